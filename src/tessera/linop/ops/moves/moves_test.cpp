// SPDX-License-Identifier: Apache-2.0
// What the operators that move data give, element by element, and what they refuse. That they are
// linear, have the right adjoint and split is in tests/laws.
#include <gtest/gtest.h>

#include "support/arrays.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using Numbers = std::vector<double>;

Numbers real(const Array& x) {
  Numbers n;
  for (const auto& v : numbers_of(x)) n.push_back(v.real());
  return n;
}

Array count(const Shape& shape, double from = 0) {
  return arange(Value(from), Value(from + static_cast<double>(count_of(shape))), Value(1.0),
                DType::f64)
      .reshape(shape);
}

Numbers dense(const NamedLinop& a, const Shape& in) { return real(a.to_dense(in, DType::f64)); }

TEST(Pad, KeepsTheCentre) {
  for (const auto& [n, p, first] : {std::tuple<i64, i64, i64>(10, 20, 5),
                                    {10, 21, 5},
                                    {3, 6, 2},
                                    {11, 20, 5},
                                    {11, 21, 5},
                                    {4, 7, 1},
                                    {5, 5, 0},
                                    {1, 4, 2}}) {
    const Array y = NamedLinop(Pad({p}, {n}, dims("X")))(count({n}, 1));
    Numbers expected(static_cast<std::size_t>(p), 0);
    for (i64 i = 0; i < n; ++i)
      expected[static_cast<std::size_t>(first + i)] = static_cast<double>(i + 1);
    EXPECT_EQ(real(y), expected) << n << " in " << p;
    EXPECT_EQ(first + n / 2, p / 2);
  }
  const Array y = NamedLinop(Pad({6, 6}, {3, 3}))(count({3, 3}, 1));
  EXPECT_EQ(y.select(0, 2).select(0, 2).item().as<double>(), 1);
  EXPECT_EQ(y.select(0, 4).select(0, 4).item().as<double>(), 9);
}

TEST(Pad, WrappedIsThePaddedImageRolledToTheFirstElement) {
  for (i64 p = 1; p <= 7; ++p)
    for (i64 n = 0; n <= p; ++n) {
      const Array x = count({n, 3}, 1);
      const NamedLinop wrapped(Pad({p, 5}, {n, 3}, dims("XY"), dims("UV"), {}, true)),
          rolled = NamedLinop(Roll({{"U", -(p / 2)}, {"V", -2}}, dims("UV"), dims("AB"))) *
                   NamedLinop(Pad({p, 5}, {n, 3}, dims("XY"), dims("UV"), {}));
      const Array y = wrapped(x);
      EXPECT_EQ(real(y), real(rolled(x))) << n << " in " << p;
      EXPECT_EQ(real(wrapped.H()(y)), real(x));
      EXPECT_EQ(real(wrapped.N()(x)), real(x));
    }
}

TEST(Pad, NamesSizesAndNormal) {
  const NamedLinop p(Pad({20, 20}, {10, 10}, dims("XY")));
  EXPECT_EQ(p.shape().str(), "(..., X, Y) -> (..., X1, Y1)");
  EXPECT_EQ(p.size("X"), 10);
  EXPECT_EQ(p.size("X1"), 20);
  EXPECT_EQ(p.size("Z"), std::nullopt);
  EXPECT_EQ(p.H().kind(), "Crop");
  EXPECT_EQ(p.N().kind(), "Identity");
  EXPECT_EQ(to_text(p.N().oshape()), "(..., X, Y)");
  const NamedLinop c(Crop({10, 10}, {20, 20}, dims("XY"), dims("AB")));
  EXPECT_EQ(c.output_shape({20, 20}), (Shape{10, 10}));
  EXPECT_EQ(c.H().kind(), "Pad");
  EXPECT_EQ(NamedLinop(Pad({20, 20}, {10, 10}, dims("AXY"))).shape().str(),
            "(..., A, X, Y) -> (..., A, X1, Y1)");
  EXPECT_THROW((void)p(count({5, 5})), DimError);
  EXPECT_THROW((void)p.H()(count({10, 10})), DimError);
}

TEST(Pad, Refuses) {
  EXPECT_THROW(Pad({20, 20}, {10}), DimError);
  EXPECT_THROW(Pad({8}, {10}, dims("X")), ArgumentError);
  EXPECT_THROW(Pad({8}, {-1}, dims("X")), ArgumentError);
  EXPECT_THROW(Pad({}, {}), DimError);
  EXPECT_THROW(Pad({8, 8}, {4, 4}, dims("X")), DimError);
  EXPECT_THROW(Pad({8, 8}, {4, 4}, dims("XY"), dims("U")), DimError);
  EXPECT_THROW(Pad({8, 8}, {4, 4}, dims("XX")), DimError);
  EXPECT_THROW(Pad({8, 8}, {4, 4}, dims("XY"), dims("YX")), DimError);
  EXPECT_THROW(Pad({8}, {4}, dims("X"), {}, dims("X")), DimError);
  EXPECT_THROW(Pad({8, 8, 8, 8}, {4, 4, 4, 4}), DimError);
  EXPECT_THROW(Crop({20}, {10}, dims("X")), ArgumentError);
  const std::string text = thrown_text<ArgumentError>([] { Pad({8}, {10}, dims("X")); });
  EXPECT_NE(text.find("Pad"), std::string::npos) << text;
  EXPECT_NE(text.find("10"), std::string::npos) << text;
}

TEST(Truncate, FirstElementsAndZerosAtTheEnd) {
  const NamedLinop t(Truncate(1, 5, 3, dims("NM"), dims("NM")));
  EXPECT_EQ(t.shape().str(), "(N, M) -> (N, M1)");
  EXPECT_EQ(real(t(count({2, 5}))), (Numbers{0, 1, 2, 5, 6, 7}));
  const PadDim* back = t.H().as<PadDim>();
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->from_length, 3);
  EXPECT_EQ(back->to_length, 5);
  EXPECT_EQ(real(t.H()(count({2, 3}, 1))), (Numbers{1, 2, 3, 0, 0, 4, 5, 6, 0, 0}));
  EXPECT_EQ(real(t.N()(count({1, 5}, 1))), (Numbers{1, 2, 3, 0, 0}));
  EXPECT_EQ(NamedLinop(PadDim(0, 3, 5, dims("N"))).N().kind(), "Identity");
  for (const NamedLinop& a : {t, t.N()}) EXPECT_THROW((void)a(count({2, 6})), DimError);
  EXPECT_THROW((void)t.H()(count({2, 6})), DimError);
  EXPECT_THROW(t.split({{"M", 0, 3}}), SplitError);
  EXPECT_NE(t.split({{"N", 0, 1}}).as<Truncate>(), nullptr);
}

TEST(Truncate, Refuses) {
  EXPECT_THROW(Truncate(0, -1, 3, dims("N")), ArgumentError);
  EXPECT_THROW(Truncate(0, 5, 6, dims("N")), ArgumentError);
  EXPECT_THROW(Truncate(0, 5, -1, dims("N")), ArgumentError);
  EXPECT_THROW(Truncate(1, 5, 3, dims("N")), DimError);
  EXPECT_THROW(Truncate("Q", 5, 3, dims("N")), DimError);
  EXPECT_THROW(Truncate(0, 5, 3, dims("...N")), DimError);
  EXPECT_THROW(Truncate(0, 5, 3, dims("NM"), dims("K")), DimError);
  EXPECT_THROW(Truncate(0, 5, 3, dims("NM"), dims("KL")), DimError);
  EXPECT_THROW(PadDim(0, 6, 5, dims("N")), ArgumentError);
  EXPECT_THROW(PadDim(0, 3, -1, dims("N")), ArgumentError);
}

TEST(Rearrange, Patterns) {
  const Rearrange cut("(A B) C", "A B C", {"Ab", "C"}, dims("ABC"), {{"A", 2}, {"B", 3}});
  const NamedLinop a(cut);
  EXPECT_EQ(a.size("Ab"), 6);
  EXPECT_EQ(a.output_shape({6, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(real(a(count({6, 4}))), real(count({2, 3, 4})));
  EXPECT_EQ(a.N().kind(), "Identity");
  // Found from the array where one length is missing.
  const NamedLinop b(Rearrange("... (a b)", "b ... a", dims("...N"), dims("B...A"), {{"b", 2}}));
  EXPECT_EQ(real(b(count({1, 6}))), (Numbers{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(b.output_shape({5, 6}), (Shape{2, 5, 3}));
  EXPECT_THROW((void)b(count({1, 7})), DimError);
  EXPECT_THROW((void)a(count({7, 4})), DimError);
  EXPECT_THROW((void)NamedLinop(Rearrange("(a b)", "a b", dims("N"), dims("AB")))(count({6})),
               DimError);
}

TEST(Rearrange, Refuses) {
  const Dims n = dims("N"), ab = dims("AB");
  for (const char* bad : {"(a b", "a)", "((a) b)", "a-b", "(...)", "a a", "2", "... ..."})
    EXPECT_ANY_THROW(Rearrange(bad, bad, n, n)) << bad;
  EXPECT_THROW(Rearrange("(a b", "a b", n, ab), ArgumentError);
  EXPECT_THROW(Rearrange("(a b)", "a c", n, ab), ArgumentError);
  EXPECT_THROW(Rearrange("(a b)", "a b", n, dims("ABC")), DimError);
  EXPECT_THROW(Rearrange("(a b)", "(b a)", n, n), DimError);
  EXPECT_THROW(Rearrange("(a b)", "a b", n, ab, {{"c", 2}}), ArgumentError);
  EXPECT_THROW(Rearrange("(a b)", "a b", n, ab, {{"a", -2}}), ArgumentError);
  EXPECT_THROW(Rearrange("... a", "a ...", dims("NA"), dims("A...")), DimError);
  EXPECT_THROW(Rearrange("... a", "a", dims("...A"), dims("A")), ArgumentError);
}

TEST(SumReduce, TheAdjointNeedsSizesTheNormalDoesNot) {
  const NamedLinop open(SumReduce(dims("ABC"), dims("AB")));
  EXPECT_EQ(real(open(count({1, 2, 3}))), (Numbers{3, 12}));
  const std::string text = thrown_text<DimError>([&] { (void)open.H()(count({1, 2})); });
  EXPECT_NE(text.find("'C'"), std::string::npos) << text;
  EXPECT_NE(text.find("sizes"), std::string::npos) << text;
  EXPECT_EQ(open.N().shape().str(), "(A, B, C) -> (A, B, C1)");
  EXPECT_EQ(real(open.N()(count({1, 2, 2}))), (Numbers{1, 1, 5, 5}));
  const NamedLinop known(SumReduce(dims("ABC"), dims("AB"), {{"C", 2}}));
  EXPECT_EQ(real(known.H()(count({1, 2}, 1))), (Numbers{1, 1, 2, 2}));
  EXPECT_THROW((void)known(count({1, 2, 3})), DimError);
  // A part of a sum knows how long it is.
  EXPECT_EQ(open.split({{"C", 1, 3}}).H().output_shape({1, 2}), (Shape{1, 2, 2}));
  EXPECT_EQ(NamedLinop(SumReduce(dims("A"), {})).output_dtype(DType::i8), DType::i64);
}

TEST(SumReduce, LearnsSizesFromItsNeighbours) {
  const NamedLinop a =
      NamedLinop(SumReduce(dims("AC"), dims("A"))) * Diagonal(count({3}, 1), dims("AC"));
  EXPECT_EQ(real(a.H()(count({2}, 1))), (Numbers{1, 2, 3, 2, 4, 6}));
  EXPECT_TRUE(a.H().H() == a);
  EXPECT_EQ(real(a.N()(ones({1, 3}, DType::f64))), (Numbers{6, 12, 18}));
}

TEST(SumReduce, Refuses) {
  EXPECT_THROW(SumReduce(dims("AB"), dims("AB")), DimError);
  EXPECT_THROW(SumReduce(dims("AB"), dims("C")), DimError);
  EXPECT_THROW(SumReduce(dims("AA"), dims("A")), DimError);
  EXPECT_THROW(SumReduce(dims("AB"), dims("A"), {{"C", 3}}), DimError);
  EXPECT_THROW(SumReduce(dims("AB"), dims("A"), {{"B", -3}}), ArgumentError);
  EXPECT_THROW(SumReduce(dims("AB"), dims("A"), {{"B", 3}, {"B", 3}}), DimError);
}

TEST(Repeat, AlongNewDims) {
  const NamedLinop a(Repeat({{"C", 3}}, dims("AB"), dims("ABC")));
  EXPECT_EQ(a.size("C"), 3);
  EXPECT_EQ(real(a(count({1, 2}))), (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(a.N().shape().str(), "(A, B) -> (A, B)");
  EXPECT_EQ(real(a.N()(count({1, 2}))), (Numbers{0, 3}));
  EXPECT_EQ(a.split({{"C", 0, 2}}).size("C"), 2);
  EXPECT_EQ(a.size("C"), 3);
  EXPECT_EQ(real(a.H()(count({1, 2, 3}))), (Numbers{3, 12}));
  const NamedLinop once(Repeat({}, dims("A"), dims("CA"), dims("C")));
  EXPECT_EQ(once.output_shape({4}), (Shape{1, 4}));
  EXPECT_EQ(once.size("C"), std::nullopt);
}

TEST(Repeat, Refuses) {
  EXPECT_THROW(Repeat({}, dims("AB"), dims("AB")), DimError);
  EXPECT_THROW(Repeat({{"C", 3}}, dims("ABC"), dims("AB")), DimError);
  EXPECT_THROW(Repeat({}, dims("AB"), dims("ABC")), DimError);
  EXPECT_THROW(Repeat({{"A", 3}}, dims("A"), dims("AC")), DimError);
  EXPECT_THROW(Repeat({{"C", -3}}, dims("A"), dims("AC")), ArgumentError);
  EXPECT_THROW(Repeat({{"C", 3}}, dims("A"), dims("AC"), dims("A")), DimError);
}

TEST(Names, ShapeSpecPermuteFlipRollRefuse) {
  EXPECT_THROW(ShapeSpec(dims("NM"), dims("K")), DimError);
  EXPECT_THROW(ShapeSpec(dims("NM"), dims("MN")), DimError);
  EXPECT_THROW(ShapeSpec(dims("NN"), dims("KL")), DimError);
  EXPECT_THROW(Permute(dims("AB"), dims("AC")), DimError);
  EXPECT_THROW(Permute(dims("AB"), dims("A")), DimError);
  EXPECT_THROW(Permute(dims("AA"), dims("AA")), DimError);
  EXPECT_THROW(Flip(dims("Z"), dims("AB")), DimError);
  EXPECT_THROW(Flip(dims("AA"), dims("AB")), DimError);
  EXPECT_THROW(Flip(dims("A"), dims("AB"), dims("BA")), DimError);
  EXPECT_THROW(Flip(dims("A"), dims("AB"), dims("CD")), DimError);
  EXPECT_THROW(Flip(dims("..."), dims("...B")), DimError);
  EXPECT_THROW(Roll({{"Z", 1}}, dims("AB")), DimError);
  EXPECT_THROW(Roll({{"A", 1}, {"A", 2}}, dims("AB")), DimError);
  EXPECT_EQ(NamedLinop(ShapeSpec(dims("NM"), dims("KL"))).H().shape().str(), "(K, L) -> (N, M)");
}

TEST(Roll, TurnsAroundTheEnd) {
  const NamedLinop a(Roll({{"X", 2}, {"Y", -1}}, dims("XY")));
  EXPECT_EQ(real(a(count({3, 2}))), real(roll(count({3, 2}), {2, -1}, {0, 1})));
  EXPECT_EQ(real(NamedLinop(Roll({{"X", 7}}, dims("X")))(count({3}))), (Numbers{2, 0, 1}));
  EXPECT_EQ(real(NamedLinop(Flip(dims("Y"), dims("XY")))(count({2, 2}))), (Numbers{1, 0, 3, 2}));
}

TEST(FiniteDifference, MatricesOfEveryModeAndEdge) {
  const auto matrix = [](Difference m, Edge e) {
    return dense(FiniteDifference("X", dims("X"), {}, m, e), {3});
  };
  using D = Difference;
  EXPECT_EQ(matrix(D::forward, Edge::zero), (Numbers{-1, 1, 0, 0, -1, 1, 0, 0, -1}));
  EXPECT_EQ(matrix(D::forward, Edge::circular), (Numbers{-1, 1, 0, 0, -1, 1, 1, 0, -1}));
  EXPECT_EQ(matrix(D::forward, Edge::replicate), (Numbers{-1, 1, 0, 0, -1, 1, 0, 0, 0}));
  EXPECT_EQ(matrix(D::backward, Edge::zero), (Numbers{1, 0, 0, -1, 1, 0, 0, -1, 1}));
  EXPECT_EQ(matrix(D::backward, Edge::circular), (Numbers{1, 0, -1, -1, 1, 0, 0, -1, 1}));
  EXPECT_EQ(matrix(D::backward, Edge::replicate), (Numbers{0, 0, 0, -1, 1, 0, 0, -1, 1}));
  EXPECT_EQ(matrix(D::central, Edge::zero), (Numbers{0, .5, 0, -.5, 0, .5, 0, -.5, 0}));
  EXPECT_EQ(matrix(D::central, Edge::circular), (Numbers{0, .5, -.5, -.5, 0, .5, .5, -.5, 0}));
  EXPECT_EQ(matrix(D::central, Edge::replicate), (Numbers{-.5, .5, 0, -.5, 0, .5, 0, -.5, .5}));
  EXPECT_THROW(FiniteDifference("Z", dims("X")), DimError);
  EXPECT_THROW(parse_difference("FiniteDifference", "sideways"), ArgumentError);
  EXPECT_THROW(parse_edge("FiniteDifference", "soft"), ArgumentError);
  EXPECT_EQ(NamedLinop(FiniteDifference("X", dims("X"))).output_dtype(DType::i32), DType::f64);
}

TEST(FiniteDifference, FewSteps) {
  // One step for the inside and one for the end, however long the dim is.
  const NamedLinop a(FiniteDifference("X", dims("CX")));
  const Plan p = a.plan({.shape = {3, 1000}, .dtype = DType::f64});
  EXPECT_EQ(p.steps().size(), 2u);
  EXPECT_EQ(p.workspace(cpu), 0);
}

TEST(Gradient, DirectionsAndNames) {
  const NamedLinop g(Gradient(dims("XY"), dims("XY"), {}, Difference::forward, Edge::replicate));
  EXPECT_EQ(g.shape().str(), "(X, Y) -> (D, X1, Y1)");
  EXPECT_EQ(g.size("D"), 2);
  EXPECT_EQ(real(g(count({2, 3}))), (Numbers{3, 3, 3, 0, 0, 0, 1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(g.split({{"D", 1, 2}}).size("D"), 1);
  EXPECT_EQ(Gradient(dims("D"), dims("D")).names.str(), "(D,) -> (D2, D1)");
  EXPECT_THROW(Gradient({}, dims("X")), DimError);
  EXPECT_THROW(Gradient(dims("Z"), dims("X")), DimError);
  EXPECT_THROW(Gradient(dims("X"), dims("XC"), dims("CXC")), DimError);
}

TEST(Toeplitz, BothWaysGiveTheMatrix) {
  for (const auto& [m, n] : {std::pair<i64, i64>(3, 2), {1, 1}, {2, 5}, {300, 280}, {260, 900}}) {
    const Array column = count({m}, 1), row = count({n}, 1000);
    const NamedLinop t(Toeplitz(column, row, "N", dims("BN")));
    const Array x = Random(3).normal({2, n}, DType::f64, cpu), y = t(x);
    double worst = 0, scale = 0;
    for (i64 b = 0; b < 2; ++b)
      for (i64 i = 0; i < m; ++i) {
        double sum = 0;
        for (i64 j = 0; j < n; ++j)
          sum += (i >= j ? static_cast<double>(1 + i - j) : static_cast<double>(1000 + j - i)) *
                 x.host<double>()[b * n + j];
        worst = std::max(worst, std::abs(sum - real(y)[static_cast<std::size_t>(b * m + i)]));
        scale = std::max(scale, std::abs(sum));
      }
    EXPECT_FALSE(!(worst <= 1e-11 * scale)) << m << " x " << n << ": " << worst;
    const std::string text = t.explain({.shape = {2, n}, .dtype = DType::f64});
    EXPECT_EQ(text.find("fft") != std::string::npos, m * n > 70000) << text;
  }
}

TEST(Toeplitz, Refuses) {
  const Array v = count({3});
  EXPECT_THROW(Toeplitz(count({3, 1}), v, "N", dims("N")), ShapeError);
  EXPECT_THROW(Toeplitz(v, count({1, 3}), "N", dims("N")), ShapeError);
  EXPECT_THROW(Toeplitz(count({0}), v, "N", dims("N")), ShapeError);
  EXPECT_THROW(Toeplitz(v, v, "Q", dims("N")), DimError);
  EXPECT_THROW(Toeplitz(v, v.to(Device::parse("sim:0")), "N", dims("N")), DeviceError);
  EXPECT_THROW((void)NamedLinop(Toeplitz(v, v, "N", dims("N")))(count({4})), DimError);
}

TEST(Kronecker, IsTheProductOfMatrices) {
  const Array a = count({2, 3}, 1), b = count({2, 2}, -1);
  const NamedLinop k(
      Kronecker({Matrix(a, dims("N"), dims("M")), Dense(b, dims("PQ"), dims("Q"), dims("P"))}));
  EXPECT_EQ(k.shape().str(), "(N, Q) -> (M, P)");
  const Numbers got = dense(k, {3, 2});
  for (i64 i = 0; i < 4; ++i)
    for (i64 j = 0; j < 6; ++j)
      EXPECT_EQ(got[static_cast<std::size_t>(i * 6 + j)],
                a.host<double>()[(i / 2) * 3 + j / 2] * b.host<double>()[(i % 2) * 2 + j % 2]);
  EXPECT_THROW(Kronecker({}), ArgumentError);
  EXPECT_THROW(Kronecker({Identity(dims("X")), Identity(dims("X"))}), DimError);
  // Fresh names of the normals do not meet.
  const NamedLinop n =
      NamedLinop(Kronecker({Matrix(a, {"X"}, dims("M")), Matrix(b, {"X1"}, dims("P"))})).N();
  EXPECT_EQ(to_text(n.ishape()), "(X, X1)");
  for (NamedDimension d : n.oshape()) EXPECT_FALSE(contains(n.ishape(), d));
}

TEST(Matrix, Refuses) {
  EXPECT_THROW(Matrix(count({3}), dims("N"), dims("M")), DimError);
  EXPECT_THROW(Matrix(count({3, 3}), dims("N"), dims("N")), DimError);
  EXPECT_THROW(Matrix(count({3, 3}), dims("NA"), dims("M")), DimError);
  EXPECT_THROW((void)NamedLinop(Matrix(count({3, 2}), dims("N"), dims("M")))(count({3})), DimError);
}

SimpleLinop::Function times(double c) {
  return [c](const Array& x) { return ops::multiply(x, c); };
}

TEST(SimpleLinop, NormalsAndNames) {
  const NamedLinop a(SimpleLinop(times(2), times(3), times(10), dims("N"), {}, "L"));
  const Array x = count({3}, 1);
  EXPECT_EQ(real(a(x)), (Numbers{2, 4, 6}));
  EXPECT_EQ(real(a.H()(x)), (Numbers{3, 6, 9}));
  EXPECT_EQ(real(a.N()(x)), (Numbers{10, 20, 30}));
  EXPECT_EQ(real(a.H().N()(x)), (Numbers{6, 12, 18}));
  EXPECT_EQ(real(NamedLinop(SimpleLinop(times(2), times(3))).N()(x)), (Numbers{6, 12, 18}));
  EXPECT_EQ(a.name(), "L");
  EXPECT_EQ(a.H().name(), "L.H");
  EXPECT_TRUE(a.H().H() == a);
  const NamedLinop s = a + Value(2.0) * a * a;
  EXPECT_EQ(real(s(x)), (Numbers{10, 20, 30}));
}

TEST(SimpleLinop, Refuses) {
  EXPECT_THROW(SimpleLinop({}, times(1)), ArgumentError);
  EXPECT_THROW(SimpleLinop(times(1), {}), ArgumentError);
  const NamedLinop wrong(
      SimpleLinop([](const Array& x) { return x.slice(0, 0, 1); }, times(1), {}, dims("N")));
  EXPECT_THROW((void)wrong(count({3})), ShapeError);
  const NamedLinop complex(
      SimpleLinop([](const Array& x) { return x.astype(DType::c128); }, times(1), {}, dims("N")));
  const std::string text = thrown_text<DTypeError>([&] { (void)complex(count({3})); });
  EXPECT_NE(text.find("dtype"), std::string::npos) << text;
  EXPECT_EQ(NamedLinop(SimpleLinop([](const Array& x) { return x.astype(DType::c128); }, times(1),
                                   {}, dims("N"), {}, "", {}, DType::c128))(count({3}))
                .dtype(),
            DType::c128);
  const NamedLinop away(
      SimpleLinop([](const Array& x) { return x.to(Device::parse("sim:0")); }, times(1)));
  EXPECT_THROW((void)away(count({3})), DeviceError);
  EXPECT_THROW(NamedLinop(SimpleLinop(times(1), times(1), {}, dims("N"))).split({{"N", 0, 1}}),
               SplitError);
  EXPECT_THROW(Sleep(-1), ArgumentError);
}

TEST(ToDevice, GoesAndComesBack) {
  const Device sim = Device::parse("sim:0");
  const NamedLinop t(ToDevice(cpu, sim, dims("X")));
  const Array x = count({4}), y = t(x);
  EXPECT_EQ(y.device(), sim);
  EXPECT_EQ(real(y), real(x));
  EXPECT_EQ(t.H()(y).device(), cpu);
  EXPECT_EQ(t.N().kind(), "Identity");
  EXPECT_EQ(t.N()(x).device(), cpu);
  EXPECT_THROW((void)t(y), DeviceError);
  const Plan p = t.plan({.shape = {4}, .dtype = DType::f64});
  EXPECT_EQ(p.transferred_bytes(), 32);
  // Work between: its normal has no trip in the middle.
  const Array w = count({4}, 1).to(sim);
  const NamedLinop a = NamedLinop(ToDevice(sim, cpu, dims("X"))) * Diagonal(w, dims("X")) * t;
  EXPECT_EQ(real(a(x)), (Numbers{0, 2, 6, 12}));
  EXPECT_EQ(real(a.N()(x)), (Numbers{0, 4, 18, 48}));
  EXPECT_EQ(a.N().plan({.shape = {4}, .dtype = DType::f64}).transferred_bytes(), 64);
}

TEST(ToDevice, UsesTheStreamsOfItsSpecs) {
  const Device a = Device::parse("sim:0"), b = Device::parse("sim:1");
  const Stream compute(b);
  const RepeatedEvent start(a);
  const ToDevice there(DeviceSpec(a).p2p_setup(b), DeviceSpec(b, compute), dims("X"), start),
      back(DeviceSpec(b, compute), a, dims("X"));
  EXPECT_TRUE(there.is_gpu2gpu());
  EXPECT_FALSE(ToDevice(cpu, a).is_gpu2gpu());
  const ToDevice reversed = there.adjoint();
  EXPECT_EQ(reversed.idevice(), b);
  EXPECT_EQ(reversed.ospec.transfer_stream, there.ispec.transfer_stream);
  EXPECT_TRUE(reversed.input_listener.has_value());
  EXPECT_TRUE(there.renamed({{"X", "Y"}}).input_listener.has_value());
  const NamedLinop A =
      NamedLinop(back) * Diagonal(count({6}, 1).to(b), dims("X")) * NamedLinop(there);
  const Plan p = A.plan({.shape = {6}, .dtype = DType::f64, .device = a});
  ASSERT_EQ(p.lanes().size(), 3u) << p.explain();
  EXPECT_EQ(p.lanes()[0].stream, there.ispec.transfer_stream);
  EXPECT_EQ(p.lanes()[1].stream, compute);
  EXPECT_EQ(p.steps()[0].listeners.size(), 1u);
  const Array x = count({6}, 1).to(a);
  EXPECT_EQ(real(A(x)), (Numbers{1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(real(A.H()(x)), (Numbers{1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(real(A.split({{"X", 2, 4}})(count({2}, 1).to(a))), (Numbers{3, 8}));
  // Two specs of one device: two lanes.
  const NamedLinop two = A + NamedLinop(ToDevice(b, a, dims("X"))) *
                                 NamedLinop(Diagonal(count({6}, 1).to(b), dims("X"))) *
                                 NamedLinop(ToDevice(a, b, dims("X")));
  EXPECT_EQ(real(two(x)), (Numbers{2, 8, 18, 32, 50, 72}));
  int computing = 0;
  const Plan both = two.plan({.shape = {6}, .dtype = DType::f64, .device = a});
  for (const Lane& l : both.lanes()) computing += !l.transfers && l.device == b;
  EXPECT_EQ(computing, 2);
}

TEST(ToDevice, NamesWrongDevices) {
  const Device a = Device::parse("sim:0"), b = Device::parse("sim:1");
  const NamedLinop t(ToDevice(a, b, dims("X")));
  for (const Array& x : {count({3}), count({3}).to(b)}) try {
      (void)t(x);
      ADD_FAILURE() << "took an input on " << x.device().str();
    } catch (const DeviceError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("ToDevice"), std::string::npos) << text;
      EXPECT_NE(text.find("sim:0"), std::string::npos) << text;
      EXPECT_NE(text.find(x.device().str()), std::string::npos) << text;
    }
  EXPECT_THROW(t(count({3}).to(a), count({3})), DeviceError);
}

TEST(ToDevice, WithoutPeerAccessResultsAreTheSame) {
  const Device a = Device::parse("sim:0"), b = Device::parse("sim:1");
  const NamedLinop A = NamedLinop(ToDevice(b, a, dims("XY"))) *
                       Diagonal(count({30, 9}, 1).to(b), dims("XY")) *
                       NamedLinop(ToDevice(a, b, dims("XY")));
  const Array x = count({30, 9}, 2).to(a);
  const Numbers direct = real(A(x)), normal = real(A.N()(x));
  sim::isolate(1);
  const Using pieces(config().staging_bytes, i64{500});
  const NamedLinop B = A.copy();
  EXPECT_EQ(real(B(x)), direct);
  EXPECT_EQ(real(B.N()(x)), normal);
  const Plan p = B.plan({.shape = {30, 9}, .dtype = DType::f64, .device = a});
  EXPECT_EQ(p.transferred_bytes(), 4 * 30 * 9 * 8) << p.explain();
  EXPECT_GT(p.pinned_workspace(), 0);
  sim::restore(1);
}

TEST(DiagonalFromWeight, NamesInAnyOrder) {
  const Array w = count({4, 3}, 1);
  const NamedLinop a(Diagonal::from_weight(w, {"Nx", "C"}, dims("CNxNy"), {{"Ny", 5}}));
  EXPECT_EQ(a.size("Ny"), 5);
  EXPECT_EQ(a.size("C"), 3);
  const Array y = a(ones({3, 4, 5}, DType::f64));
  EXPECT_EQ(y.select(0, 2).select(0, 1).select(0, 4).item().as<double>(), 6);
  EXPECT_EQ(NamedLinop(Diagonal::from_weight(w, {"Nx", "C"}, dims("CNxNy"))).size("Ny"),
            std::nullopt);
  EXPECT_THROW(Diagonal::from_weight(w, dims("C"), dims("CX")), DimError);
  EXPECT_THROW(Diagonal::from_weight(w, dims("CQ"), dims("CX")), DimError);
  EXPECT_THROW(Diagonal::from_weight(w, dims("CX"), dims("CX"), {{"C", 5}}), DimError);
  EXPECT_THROW(Diagonal::from_weight(w, dims("CX"), dims("CX..."), {}), DimError);
}

}  // namespace
}  // namespace tessera
