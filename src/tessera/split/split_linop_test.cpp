// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/split/split_linop.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

TEST(SplitLinop, GridAndTilesAreThoseOfTheSizes) {  // acceptance case 126
  const Array w = random_on_host({10, 3, 7}, DType::f64, 1);
  const NamedLinop a = Dense(w, dims("BMN"), dims("BN"), dims("BM"));
  const SplitGrid g = split_linop(a, {{"N", 2}, {"M", 1}});
  ASSERT_EQ(g.grid, Shape({4, 3}));
  ASSERT_EQ(g.tiles.size(), 12u);
  const SplitTile& t = g.tiles[1 * 3 + 2];
  const Array expected = w.slice(1, 2, 3).slice(2, 2, 4);
  ASSERT_EQ(t.op.kind(), "Dense");
  const Array part = t.op.arrays().front();
  ASSERT_EQ(part.shape(), Shape({10, 1, 2}));
  EXPECT_EQ(part.storage(), w.storage()) << "tiles are views";
  EXPECT_EQ(distance(part, expected), 0);
  EXPECT_EQ(t.in.str(), "{B: 0:10, N: 2:4}");
  EXPECT_EQ(t.out.str(), "{B: 0:10, M: 2:3}");
  EXPECT_EQ(g.tiles.back().in.str(), "{B: 0:10, N: 6:7}") << "the last tile is shorter";
}

TEST(SplitLinop, TilesAddUpToTheWhole) {
  const NamedLinop a = problems::batched_matrix();
  const Array x = random_on_host({10, 7}, DType::f64, 2), expected = a(x);
  for (const DimSizes& sizes :
       {DimSizes{{"N", 2}, {"M", 1}}, {{"B", 4}}, {{"M", 2}, {"B", 3}, {"N", 5}}, {{"N", 99}}}) {
    const Array y = zeros(expected.shape(), DType::f64);
    for (const SplitTile& t : split_linop(a, sizes).tiles) {
      const Array place = y.view(part_of(y.layout(), a.oshape(), t.out));
      place.copy_from(ops::add(place, t.op(x.view(part_of(x.layout(), a.ishape(), t.in)))));
    }
    EXPECT_LT(distance(y, expected), 1e-12) << to_text(sizes);
  }
}

TEST(SplitLinop, OneTileIsTheOperatorItself) {
  const NamedLinop a = problems::batched_matrix();
  for (const DimSizes& sizes : {DimSizes{}, {{"N", 7}}, {{"N", 100}}}) {
    const SplitGrid g = split_linop(a, sizes);
    ASSERT_EQ(g.tiles.size(), 1u);
    EXPECT_EQ(g.tiles.front().op, a);
  }
}

TEST(SplitLinop, ShapeOfAnInputTellsUnknownSizes) {
  const NamedLinop f = FFT(1, dims("C"));
  const std::string text = thrown_text<DimError>([&] { (void)split_linop(f, {{"C", 2}}); });
  EXPECT_NE(text.find("'C'"), std::string::npos) << text;
  EXPECT_NE(text.find("shape of an input"), std::string::npos) << text;
  const SplitGrid g = split_linop(f, {{"C", 2}}, Shape{5, 8});
  ASSERT_EQ(g.grid, Shape({3}));
  EXPECT_EQ(g.tiles[2].in.str(), "{C: 4:5, Nx: 0:8}");
  EXPECT_EQ(g.tiles[2].out.str(), "{C: 4:5, Kx: 0:8}");
}

TEST(SplitLinop, SizesInsideAChainAreFound) {
  const NamedLinop inner =
      Dense(random_on_host({4, 6}, DType::f64, 3), dims("KN"), dims("N"), dims("K"));
  const NamedLinop a =
      NamedLinop(Dense(random_on_host({5, 4}, DType::f64, 4), dims("MK"), dims("K"), dims("M"))) *
      inner;
  const SplitGrid g = split_linop(a, {{"K", 3}});
  ASSERT_EQ(g.grid, Shape({2}));
  EXPECT_EQ(g.tiles[0].in.str(), "{N: 0:6}");
}

TEST(SplitLinop, RefusesBySentence) {
  const NamedLinop a = problems::batched_matrix();
  EXPECT_NE(thrown_text<DimError>([&] {
              (void)split_linop(a, {{"Q", 2}});
            }).find("no dim 'Q'"),
            std::string::npos);
  EXPECT_NE(thrown_text<DimError>([&] {
              (void)split_linop(a, {{"N", 2}, {"N", 3}});
            }).find("two sizes"),
            std::string::npos);
  for (const i64 size : {0, -1})
    EXPECT_NE(thrown_text<ArgumentError>([&] {
                (void)split_linop(a, {{"N", size}});
              }).find("at least 1"),
              std::string::npos);
  const NamedLinop f = FFT(1, dims("C"));
  EXPECT_NE(thrown_text<SplitError>([&] {
              (void)split_linop(f, {{"Nx", 2}}, Shape{5, 8});
            }).find("'Nx'"),
            std::string::npos);
}

TEST(SplitLinop, RangesOfABatch) {
  using Ranges = std::vector<std::pair<i64, i64>>;
  EXPECT_EQ(batch_ranges(7, 3), (Ranges{{0, 3}, {3, 6}, {6, 7}}));
  EXPECT_EQ(batch_ranges(10, 3), (Ranges{{0, 3}, {3, 6}, {6, 9}, {9, 10}}));
  EXPECT_EQ(batch_ranges(2, 9), (Ranges{{0, 2}}));
  EXPECT_EQ(batch_ranges(i64{1} << 62, i64{1} << 62).size(), 1u);
  EXPECT_THROW((void)batch_ranges(0, 3), ArgumentError);
}

TEST(SplitForward, RangesInTheOrderOfTheDims) {
  const Array w = random_on_host({4, 6}, DType::f64, 5);
  const NamedLinop d = Diagonal(w, dims("XY"));
  const NamedLinop part = split_forward(d, {{0, 2}, {}}, {{0, 2}, {}});
  EXPECT_EQ(part.size("X"), 2);
  EXPECT_EQ(part.size("Y"), 6);
  const Array x = random_on_host({2, 6}, DType::f64, 6);
  EXPECT_LT(distance(part(x), ops::multiply(w.slice(0, 0, 2), x)), 1e-14);
  EXPECT_EQ(split_forward(d, {{1, {}}, {}}, {{1, 4}, {0, 6}}).size("X"), 3);
  const NamedLinop m = problems::batched_matrix();
  EXPECT_EQ(split_forward(m, {{}, {2, 5}}, {{}, {1, 2}}).size("N"), 3);
}

TEST(SplitForward, RefusesWhatDoesNotFit) {
  const NamedLinop d = Diagonal(random_on_host({4, 6}, DType::f64, 5), dims("XY"));
  for (const auto& [in, out] :
       {std::pair<std::vector<DimRange>, std::vector<DimRange>>{{{0, 2}, {}}, {{1, 3}, {}}},
        {{{0, 2}, {}}, {{}, {}}},
        {{{}, {}}, {{0, 2}, {}}}})
    EXPECT_NE(
        thrown_text<SplitError>([&, i = in, o = out] { (void)split_forward(d, i, o); }).find("'X'"),
        std::string::npos);
  EXPECT_THROW((void)split_forward(d, {{0, 2}}, {{0, 2}, {}}), DimError);
  EXPECT_THROW((void)split_forward(d, {{0, 9}, {}}, {{0, 9}, {}}), SplitError);
  EXPECT_THROW((void)split_forward(d, {{2, 2}, {}}, {{2, 2}, {}}), SplitError);
  EXPECT_THROW((void)split_forward(FFT(1, dims("...")), {{0, 2}, {}}, {{0, 2}, {}}), SplitError);
  EXPECT_THROW((void)split_forward(FFT(1, dims("C")), {{2, {}}, {}}, {{2, {}}, {}}), SplitError);
}

// Names inside a chain are its own: they neither give sizes to its neighbours nor forbid them
// names.
TEST(SplitLinop, NamesInsideDoNotMeetThoseOutside) {
  const NamedLinop wide =
      Dense(random_on_host({1, 3}, DType::f64, 11), dims("QP"), dims("P"), dims("Q"));
  const NamedLinop other =
      Dense(random_on_host({1, 3}, DType::f64, 12), dims("QP"), dims("P"), dims("Q"));
  const NamedLinop total = wide.N() + other.N();  // (P) -> (P1), through a Q of size 1
  ASSERT_EQ(total.size("Q"), std::nullopt);
  const NamedLinop up =
      Dense(random_on_host({4, 3}, DType::f64, 13), dims("QP1"), dims("P1"), dims("Q"));
  const Array x = random_on_host({3}, DType::f64, 14);
  EXPECT_LT(distance((up * total)(x), up(total(x))), 1e-12);
  const NamedLinop renamed = wide.N().rename({{"P1", "Q"}});
  EXPECT_EQ(renamed.oshape(), dims("Q"));
  EXPECT_LT(distance(renamed(x), wide.N()(x)), 1e-12);
}

// Under a wildcard a part takes dims that it does not name. Cut along them, it is cut too, or the
// cut is refused; it is never left whole.
TEST(SplitLinop, WildcardsInSumsAreCutOrRefused) {
  const NamedLinop g =
      Dense(random_on_host({5, 4}, DType::f64, 7), dims("ML"), dims("L"), dims("M"));
  const NamedLinop sum = g.N() + Value(0.5) * NamedLinop(Identity());
  ASSERT_FALSE(sum.ishape() == sum.oshape());
  EXPECT_THROW((void)sum.split({{"L", 0, 2}}), SplitError);
  EXPECT_THROW((void)sum.split({{"L", 0, 2}, {"L1", 2, 4}}), SplitError);
  const NamedLinop points =
      NamedLinop(Diagonal(random_on_host({3, 4}, DType::f64, 8), dims("XY"))) +
      NamedLinop(Diagonal(random_on_host({4}, DType::f64, 9)));
  const Array x = random_on_host({3, 4}, DType::f64, 10);
  const Array part = points.split({{"Y", 1, 3}})(x.slice(1, 1, 3));
  EXPECT_LT(distance(part, points(x).slice(1, 1, 3)), 1e-14);
}

}  // namespace
}  // namespace tessera
