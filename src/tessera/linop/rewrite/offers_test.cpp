// SPDX-License-Identifier: Apache-2.0
// An operator that the library does not know takes part in rewriting by what it offers.
#include <gtest/gtest.h>

#include "support/distances.hpp"
#include "support/support.hpp"
#include "tessera/linop/core/side_by_side.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

// Real gains along the last dim. Without offers (`Quiet`) it is left as it is.
template <bool Offering>
struct GainsOf {
  Array gain;
  Dims names{"...", "Y"};
  Value scale{1.0};

  static constexpr const char* kind = Offering ? "Gains" : "Quiet";
  NamedShape shape() const { return NamedShape(names); }
  std::optional<i64> size(ND d) const {
    return d == names.back() ? std::optional(gain.shape(0)) : std::nullopt;
  }
  Shape output_shape(const Shape& input) const { return input; }
  DType output_dtype(DType t) const { return promote(t, gain.dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const {
    record::multiply(r, r.constant(ops::multiply(gain, scale)), x, y);
  }
  GainsOf adjoint() const { return *this; }
  GainsOf renamed(const Renames& r) const { return {gain, rename(names, r), scale}; }
  GainsOf split(const Tile& tile) const {
    const Cut* c = tile.find(names.back());
    return c ? GainsOf{gain.slice(0, c->start, c->stop), names, scale} : *this;
  }
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.gain);
  }

  GainsOf scaled(const Value& by) const requires Offering {
    return {gain, names, factor_product(scale, by)};
  }
  std::optional<NamedLinop> merged_with(const NamedLinop& next) const requires Offering {
    const GainsOf* g = next.as<GainsOf>();
    if (!g) return std::nullopt;
    return GainsOf{ops::multiply(gain, g->gain), names, factor_product(scale, g->scale)};
  }
  Shape weight_shape() const requires Offering { return gain.shape(); }
  Array product(DType data) const requires Offering {
    return ops::multiply(gain, scale).astype(promote(gain.dtype(), real_of(data)));
  }
  std::optional<NamedLinop> weight_on(const Dims& over,
                                      const AxisRanges& kept) const requires Offering {
    const AxisRange last = kept.empty() ? AxisRange{0, gain.shape(0)} : kept.back();
    return GainsOf{gain.slice(0, last.start, last.stop), over, scale};
  }
  bool ignores_axis(i64 axis) const requires Offering { return axis != 1; }
  std::optional<NamedLinop> joined_with(const NamedLinop& next,
                                        const Seam& seam) const requires Offering {
    const GainsOf* g = next.as<GainsOf>();
    if (!g || !seam.both_sides || seam.dim != names.back()) return std::nullopt;
    const auto both = side_by_side(gain, g->gain, 0);
    return both ? std::optional<NamedLinop>(GainsOf{*both, names, scale}) : std::nullopt;
  }
};
using Gains = GainsOf<true>;
using Quiet = GainsOf<false>;

Array gains(i64 n, std::uint64_t seed = 1) { return Random(seed).normal({n}, DType::f64); }
Array input(const Shape& s) { return Random(9).normal(s, DType::c128); }

bool mentions(const NamedLinop& a, const Shape& shape, const std::string& what) {
  return a.explain({.shape = shape, .dtype = DType::c128}).find(what) != std::string::npos;
}

NamedLinop tiled(const NamedLinop& a) {
  std::vector<NamedLinop> tiles;
  for (i64 i = 0; i < 7; i += 3) tiles.push_back(a.split({{"Y", i, std::min<i64>(i + 3, 7)}}));
  return concat(tiles, {.idim = "Y", .odim = "Y"});
}

TEST(Offers, NeighboursMerge) {
  const NamedLinop a = Gains{gains(5, 1)}, b = Gains{gains(5, 2)};
  const NamedLinop both = b * a, scaled = Value(2.0) * (b * a * Value(3.0));
  EXPECT_NE(both.as<Gains>(), nullptr) << both.tree();
  ASSERT_NE(scaled.as<Gains>(), nullptr) << scaled.tree();
  EXPECT_EQ(scaled.as<Gains>()->scale.as<double>(), 6);
  const Array x = input({3, 5});
  EXPECT_LT(relative(scaled(x), ops::multiply(a(b(x)), Value(6.0))), 1e-14);
  const NamedLinop quiet = NamedLinop(Quiet{gains(5, 1)}) * NamedLinop(Quiet{gains(5, 2)});
  EXPECT_EQ(quiet.kind(), "Chain");
  EXPECT_LT(relative(quiet(x), both(x)), 1e-14);
}

TEST(Offers, TilesAreJoined) {
  const NamedLinop whole = Gains{gains(7)}, tiles = tiled(whole), apart = tiled(Quiet{gains(7)});
  EXPECT_EQ(tiles.plan({.shape = {3, 7}, .dtype = DType::c128}).steps().size(), 1u);
  EXPECT_TRUE(mentions(tiles, {3, 7}, "3 tiles of Gains joined"));
  EXPECT_EQ(apart.plan({.shape = {3, 7}, .dtype = DType::c128}).steps().size(), 3u);
  const Array x = input({3, 7});
  EXPECT_LT(relative(tiles(x), whole(x)), 1e-15);
  EXPECT_LT(relative(apart(x), whole(x)), 1e-15);
}

TEST(Offers, TransformsPassTheAxesThatItIgnores) {
  const NamedLinop F = FFT(2, {}, FFT::Grids{dims("AB"), dims("XY")});
  const Array x = input({4, 5});
  const NamedLinop G = F.normal(Gains{gains(5), dims("XY")});
  EXPECT_TRUE(mentions(G, {4, 5}, "does not vary along (X,)")) << G.tree();
  EXPECT_LT(relative(G(x), F.H()(NamedLinop(Gains{gains(5), dims("XY")})(F(x)))), 1e-13);
  EXPECT_FALSE(mentions(F.normal(Quiet{gains(5), dims("XY")}), {4, 5}, "does not vary"));
}

TEST(Offers, WeightsMoveIntoAFrame) {
  const NamedLinop P = Pad({9}, {5}, dims("X"), dims("Y"));
  const NamedLinop inside = P.normal(Gains{gains(9)});
  EXPECT_NE(inside.as<Gains>(), nullptr) << inside.tree();
  const Array x = input({2, 5});
  EXPECT_LT(relative(inside(x), P.H()(NamedLinop(Gains{gains(9)})(P(x)))), 1e-14);
}

TEST(Offers, AFilterTakesAnyWeight) {
  const NamedLinop F = FFT(1, {}, FFT::Grids{dims("X"), dims("Y")});
  const NamedLinop weight = Gains{gains(6), dims("Y")}, filter = F.normal(weight);
  EXPECT_TRUE(mentions(filter, {6}, "one filter")) << filter.tree();
  const Array x = input({6});
  EXPECT_LT(relative(filter(x), F.H()(weight(F(x)))), 1e-13);
}

}  // namespace
}  // namespace tessera
