// SPDX-License-Identifier: Apache-2.0
// Each rule by itself: with it and without it an operator gives the same numbers, and with it there
// is less to do.
#include "tessera/linop/rewrite/rewrite.hpp"

#include <gtest/gtest.h>

#include "support/distances.hpp"
#include "tessera/base/config.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

Array random(const Shape& s, std::uint64_t seed) { return Random(seed).normal(s, DType::c128); }
NamedLinop named_matrix(i64 m, i64 n, const char* names, std::uint64_t seed) {
  const Dims d = dims(names);
  return Dense(random({m, n}, seed), d, Dims{d[1]}, Dims{d[0]});
}

// Steps that are more than a copy or a fill.
std::size_t steps(const NamedLinop& a, const Shape& input) {
  return a.plan({.shape = input, .dtype = DType::c128, .device = cpu}).steps().size();
}

struct RuleCase {
  const char* name;
  Setting<bool> Config::*rule;
  NamedLinop (*make)();  // builds the chain under the current settings
  Shape input;
  const char* kind;  // what the rule leaves
};

const RuleCase cases[] = {
    {"identities",
     &Config::rewrite_identities,
     [] { return named_matrix(3, 4, "MN", 1) * NamedLinop(Identity(dims("N"))); },
     {4},
     "Dense"},
    {"isometries",
     &Config::rewrite_isometries,
     [] {
       // Only the pair itself: the closed form of the transform would hide the rule.
       const Using off(config().rewrite_normals, false);
       const NamedLinop F(FFT(1, dims("..."), FFT::Grids{dims("N"), dims("K")}));
       return named_matrix(3, 4, "MN", 2) * F.H() * F;
     },
     {4},
     "Dense"},
    {"normals",
     &Config::rewrite_normals,
     [] {
       const NamedLinop W = named_matrix(9, 4, "MN", 3);
       return W.H() * W;
     },
     {4},
     "Dense"},
    {"gram", &Config::rewrite_gram, [] { return named_matrix(9, 4, "MN", 4).N(); }, {4}, "Dense"},
    {"coil maps",
     &Config::rewrite_coil_maps,
     [] {
       return NamedLinop(Dense(random({3, 4, 5}, 5), dims("CXY"), dims("XY"), dims("CXY"))).N();
     },
     {4, 5},
     "Diagonal"},
    {"scalars",
     &Config::rewrite_scalars,
     [] { return Value(2.0) * named_matrix(3, 4, "MN", 6) * Value(-0.5); },
     {4},
     "Chain"},
    {"diagonals",
     &Config::rewrite_diagonals,
     [] {
       const NamedLinop D(Diagonal(random({4}, 7), dims("N"))),
           E(Diagonal(random({4}, 8), dims("N")));
       return D * E * Value(c128(0, 2));
     },
     {4},
     "Diagonal"},
    {"phases",
     &Config::rewrite_phases,
     [] {
       const NamedLinop S(Dense(random({3, 4, 5}, 9), dims("CXY"), dims("XY"), dims("CXY"))),
           F(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")}, Norm::ortho, true)),
           M(Diagonal(random({4, 5}, 10), dims("CUV")));
       return (M * F * S).N();
     },
     {4, 5},
     "Chain"},
    {"axes",
     &Config::rewrite_axes,
     [] {
       const NamedLinop S(Dense(random({3, 4, 5}, 9), dims("CXY"), dims("XY"), dims("CXY"))),
           F(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")}, Norm::backward, true)),
           M(Diagonal(random({4, 1}, 10), dims("CUV")));
       return (M * F * S).N();
     },
     {4, 5},
     "Chain"},
    {"filters",
     &Config::rewrite_filters,
     [] {
       const NamedLinop F(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")}, Norm::backward)),
           M(Diagonal(random({4, 5}, 12), dims("CUV")));
       return F.H() * M * F;
     },
     {3, 4, 5},
     "Chain"},
    {"pruning",
     &Config::rewrite_pruning,
     [] {
       const NamedLinop P(Pad({7, 10}, {4, 5}, dims("XY"), dims("PQ"))),
           F(FFT(2, dims("..."), FFT::Grids{dims("PQ"), dims("UV")}, Norm::ortho, true)),
           M(Diagonal(random({7, 10}, 11), dims("...UV")));
       return (M * F * P).N();
     },
     {4, 5},
     "Chain"},
    {"tiles",
     &Config::rewrite_tiles,
     [] {
       const NamedLinop A = named_matrix(6, 4, "MN", 13);
       return concat({A.split({{"M", 0, 2}}), A.split({{"M", 2, 6}})}, {.odim = ND("M")});
     },
     {4},
     "Concat"},
};

TEST(Rewrite, EveryRuleAloneChangesNothingButTheWork) {
  for (const RuleCase& c : cases) {
    const Array x = random(c.input, 100);
    const NamedLinop with = c.make();
    EXPECT_EQ(with.kind(), c.kind) << c.name << "\n" << with.tree();
    const Array expected = with(x), adjoint = with.H()(expected);
    const std::size_t work = steps(with, c.input);
    const Using off(config().*c.rule, false);
    const NamedLinop without = c.make();
    EXPECT_FALSE(!(relative(expected, without(x)) < 1e-13)) << c.name;
    EXPECT_FALSE(!(relative(adjoint, without.H()(expected)) < 1e-13)) << c.name;
    const std::string name = c.name;
    EXPECT_TRUE(isequal(with.ishape(), without.ishape()).matched) << c.name;
    // Where mixing vanishes the name stays.
    EXPECT_TRUE(name == "axes" || isequal(with.oshape(), without.oshape()).matched) << c.name;
    const bool smaller_steps = name == "pruning" || name == "axes";
    EXPECT_TRUE(smaller_steps || work < steps(without, c.input)) << c.name;
  }
}

TEST(Rewrite, PruningSkipsTheZerosAroundWrappedImages) {
  const std::vector<std::pair<Shape, Shape>> sizes{
      {{7, 10}, {4, 5}}, {{5, 4, 6}, {2, 4, 3}}, {{6, 3, 5}, {1, 3, 5}}, {{9, 9, 8}, {4, 3, 7}}};
  for (const auto& [outer, image] : sizes) {
    const Dims in = outer.size() == 2 ? dims("XY") : dims("XYZ"),
               out = outer.size() == 2 ? dims("PQ") : dims("PQR"),
               over = outer.size() == 2 ? dims("UV") : dims("UVW");
    const NamedLinop A = NamedLinop(FFT(in.size(), dims("C"), FFT::Grids{out, over})) *
                         NamedLinop(Pad(outer, image, in, out, dims("C"), true));
    Shape shape{3};
    shape.append(image);
    const Array x = random(shape, 17), y = A(x), z = A.H()(y);
    const std::string text = A.plan({.shape = shape, .dtype = x.dtype()}).explain();
    EXPECT_NE(text.find("skips the zeros"), std::string::npos) << text;
    const Using off(config().rewrite_pruning, false);
    const NamedLinop whole = A.copy();
    EXPECT_FALSE(!(relative(y, whole(x)) < 1e-13)) << cat(outer, " ", image);
    EXPECT_FALSE(!(relative(z, whole.H()(y)) < 1e-13)) << cat(outer, " ", image);
  }
}

TEST(Rewrite, EverySwitchIsInTheTable) {
  std::size_t rules = 0;
  for (const Config::Row& row : config().rows()) rules += row.name.rfind("rewrite_", 0) == 0;
  EXPECT_EQ(rules, std::size(cases));
}

TEST(Rewrite, FoldsFromTheInside) {
  const NamedLinop S(Dense(random({3, 4, 5}, 1), dims("CXY"), dims("XY"), dims("CXY"))),
      F(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")})),
      P(Pad({6, 8}, {4, 5}, dims("XY"), dims("PQ"), dims("C"))),
      G(FFT(2, dims("C"), FFT::Grids{dims("PQ"), dims("UV")}));
  // A transform, a padding and maps leave one weight.
  for (const NamedLinop& A : {F * S, P * S, G * P * S}) {
    EXPECT_EQ(A.N().kind(), "Diagonal") << A.N().tree();
    EXPECT_EQ(A.N().shape().str(), "(X, Y) -> (X, Y)");
    EXPECT_FALSE(A.N().notes().empty());
    EXPECT_EQ((A.H() * A).kind(), "Diagonal") << "the pattern is seen wherever it stands";
  }
  const NamedLinop D(Diagonal(random({4, 5}, 2), dims("XY")));
  EXPECT_EQ((F * NamedLinop(Identity()) * S * D).N().kind(), "Diagonal");
  EXPECT_NO_THROW((void)((F * S).N() + Value(0.1) * NamedLinop(Identity(dims("XY")))));
}

TEST(Rewrite, WeightsInsideAPaddingAreCropped) {
  const NamedLinop P(Pad({6}, {3}, dims("X"), dims("P"), {})),
      W(Diagonal(random({6}, 3), dims("P")));
  const NamedLinop N = P.normal(W);
  EXPECT_EQ(N.kind(), "Diagonal") << N.tree();
  EXPECT_EQ(N.shape().str(), "(X,) -> (X,)");
  const Array x = random({3}, 4);
  EXPECT_FALSE(!(relative(N(x), P.H()(W(P(x)))) < 1e-15));
}

TEST(Rewrite, TransformsCancelAlongAxesThatNothingInsideTouches) {
  struct Inner {
    NamedLinop op;
    std::string names;  // of F.H op F, composed
    bool transforms;    // some are left
    // F.normal(op) has the names of F.N, in which a transform without a factor vanishes.
    std::string as_normal() const {
      std::string text;
      for (char c : names)
        if (c != '1') text += c;
      return text;
    }
  };
  const auto weight = [](const Shape& s, const char* names) {
    return NamedLinop(Diagonal(random(s, 21), dims(names)));
  };
  const Inner inners[] = {
      {weight({4, 1}, "CUV"), "(C, X, Y) -> (C, X1, Y)", true},
      {weight({5}, "CUV"), "(C, X, Y) -> (C, X, Y1)", true},
      {weight({3, 1, 5}, "CUV"), "(C, X, Y) -> (C, X, Y1)", true},
      {weight({4, 5}, "CUV"), "(C, X, Y) -> (C, X1, Y1)", true},
      {weight({3, 1, 1}, "CUV"), "(C, X, Y) -> (C, X, Y)", false},
      {weight({4, 1}, "..."), "(C, X, Y) -> (C, X1, Y)", true},
      {NamedLinop(Diagonal::from_weight(random({4}, 22), dims("U"), dims("CUV"), {{"V", 5}})),
       "(C, X, Y) -> (C, X1, Y)", true},
      {NamedLinop(Scalar(c128(1, 2), dims("CUV"))), "(C, X, Y) -> (C, X, Y)", false},
      {NamedLinop(Dense(random({2, 3}, 23), dims("AC"), dims("CUV"), dims("AUV"))),
       "(C, X, Y) -> (A, X, Y)", false},
      {NamedLinop(Dense(random({5, 2, 3}, 24), dims("VAC"), dims("CUV"), dims("AUV"))),
       "(C, X, Y) -> (A, X, Y1)", true},
  };
  const Array x = random({3, 4, 5}, 25);
  for (const Norm norm : {Norm::ortho, Norm::backward, Norm::forward})
    for (const bool centered : {false, true})
      for (const bool flipped : {false, true})
        for (const Inner& inner : inners) {
          const NamedLinop G(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")}, norm, centered)),
              F = flipped ? G.H().rename({{"X", "U"}, {"Y", "V"}, {"U", "X"}, {"V", "Y"}}) : G;
          const NamedLinop A = F.normal(inner.op);
          const std::string text = cat(static_cast<int>(norm), centered, flipped, " ", A.tree());
          EXPECT_FALSE(!(relative(A(x), F.H()(inner.op(F(x)))) < 1e-13)) << text;
          EXPECT_TRUE(check_adjoint(A, {3, 4, 5}, DType::c128)) << text;
          EXPECT_EQ(A.shape().str(), inner.as_normal()) << text;
          const std::string plan = A.explain({.shape = {3, 4, 5}, .dtype = DType::c128});
          EXPECT_EQ(
              plan.find("fft") != std::string::npos || plan.find("filter") != std::string::npos,
              inner.transforms)
              << plan;
        }
}

TEST(Rewrite, LinesOfAMaskLeaveTheTransformAcrossThem) {
  for (const Norm norm : {Norm::ortho, Norm::backward, Norm::forward}) {
    const NamedLinop S(Dense(random({3, 4, 6}, 1), dims("CXY"), dims("XY"), dims("CXY"))),
        F(FFT(2, dims("C"), FFT::Grids{dims("XY"), dims("UV")}, norm, true)),
        M(Diagonal(random({4, 1}, 2), dims("CUV"))), A = M * F * S;
    EXPECT_EQ(A.N().shape().str(), "(X, Y) -> (X1, Y)");
    const std::string text = A.N().explain({.shape = {4, 6}, .dtype = DType::c128});
    EXPECT_NE(text.find("does not vary along (V,)"), std::string::npos) << text;
    // Point by point along Y: it can be cut there, and the parts again, with the whole's factor.
    const Array x = random({4, 6}, 3), whole = A.H()(A(x));
    const NamedLinop part = A.N().split({{"Y", 1, 4}});
    EXPECT_FALSE(!(relative(part(x.slice(1, 1, 4)), whole.slice(1, 1, 4)) < 1e-13));
    EXPECT_FALSE(
        !(relative(part.split({{"Y", 1, 2}})(x.slice(1, 2, 3)), whole.slice(1, 2, 3)) < 1e-13));
    EXPECT_FALSE(!(relative(A.N().N()(x), A.N()(A.N()(x))) < 1e-13));
    // Where nobody knows the size of the whole, only a factor that does not depend on it is right.
    const NamedLinop open = (M * F).N();
    if (norm == Norm::ortho)
      EXPECT_NO_THROW((void)open.split({{"Y", 1, 4}}));
    else
      EXPECT_THROW((void)open.split({{"Y", 1, 4}}), SplitError);
    EXPECT_NO_THROW((void)open.split({{"Y", 1, 4, 6}}));
  }
}

TEST(Rewrite, NormalsOfScaledTransformsAreOneFactor) {
  const Array x = random({4, 6}, 4);
  for (const Norm norm : {Norm::backward, Norm::forward})
    for (const bool centered : {false, true}) {
      const NamedLinop F(FFT(2, dims("..."), FFT::Grids{dims("XY"), dims("UV")}, norm, centered));
      const double n = norm == Norm::backward ? 24 : 1.0 / 24;
      EXPECT_FALSE(!(relative(F.N()(x), ops::multiply(x, Value(n))) < 1e-14));
      const PlanOptions options{.shape = {4, 6}, .dtype = DType::c128};
      EXPECT_EQ(F.N().plan(options).steps().size(), 1u) << F.N().explain(options);
      // With sizes from a neighbour it folds further.
      const NamedLinop D(Diagonal(random({4, 6}, 5), dims("XY")));
      EXPECT_EQ((F * D).N().kind(), "Diagonal") << (F * D).N().tree();
      EXPECT_FALSE(!(relative((F * D).N()(x), D.H()(F.H()(F(D(x))))) < 1e-13));
    }
}

TEST(Rewrite, SumsAndRowsCostTwoApplicationsAPart) {
  std::vector<NamedLinop> parts;
  for (std::uint64_t i = 0; i < 8; ++i) parts.push_back(named_matrix(3, 20, "PQ", 10 + i));
  auto products = [](const NamedLinop& a, const Shape& input) {
    std::size_t n = 0;
    const Plan p = a.plan({.shape = input, .dtype = DType::c128, .device = cpu});
    for (const Step& s : p.steps())
      n += s.label.find("matmul") != std::string::npos || s.label.find("vdot") != std::string::npos;
    return n;
  };
  EXPECT_EQ(products(sum(parts).N(), {20}), 16u);
  EXPECT_EQ(products(concat(parts, {.idim = "Q"}).N(), {160}), 16u);
}

TEST(Rewrite, WideMatricesAreNotSquared) {
  const NamedLinop wide = named_matrix(2, 50, "MN", 1), tall = named_matrix(50, 2, "MN", 2);
  EXPECT_EQ(wide.N().kind(), "Chain");
  EXPECT_EQ(tall.N().kind(), "Dense");
  EXPECT_EQ(tall.N().shape().str(), "(N,) -> (N1,)");
  EXPECT_EQ(wide.N().shape().str(), "(N,) -> (N1,)");
}

// What is left of a pair goes on under the names before it, which a later part may have itself.
TEST(Rewrite, NamesThatWouldMeetAreLeftApart) {
  const NamedLinop F(FFT(1, dims("..."), FFT::Grids{dims("N"), dims("K")}));
  const NamedLinop back = F.H().rename({{"N", "A"}}), last = named_matrix(4, 4, "NA", 1);
  const NamedLinop first = named_matrix(4, 3, "NZ", 2), c = chain({first, F, back, last});
  EXPECT_EQ(c.shape().str(), "(Z,) -> (N,)");
  const Array x = random({3}, 3);
  EXPECT_LT(distance(c(x), last(first(x))), 1e-12);
  // The normal of a normal, whose own names are numbered like those of the operator.
  auto rows = [](i64 q) {
    const NamedLinop in(Dense(random({4, 6, 2}, 4), dims("ANP"), dims("NA"), dims("NP")));
    return NamedLinop(Dense(random({6, 2, q, 4}, 5), dims("NPQA1"), dims("NP"), dims("QA1"))) * in;
  };
  const NamedLinop n = concat({rows(2), rows(5)}, {.odim = "Q"}).H().N();
  EXPECT_EQ(n.N().shape().str(), "(Q, A1) -> (Q2, A3)");
  const Array y = random({7, 4}, 6);
  EXPECT_LT(distance(n.N()(y), n.H()(n(y))) / norm(n.N()(y)).item().as<double>(), 1e-12);
}

TEST(Rewrite, TellsWhatItDidAndWhy) {
  const NamedLinop F(FFT(1)), D(Diagonal(random({8}, 5), dims("Nx")));
  const std::string text = (F * D).N().explain({.shape = {8}, .dtype = DType::c128});
  EXPECT_NE(text.find("cancel"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
