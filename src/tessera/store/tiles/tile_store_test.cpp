// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tile_store.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace tessera::store {
namespace {

// Every tile of a grid, counted in a map of the array: each element lies in exactly one.
TEST(TileGrid, TilesCoverEveryElementOnce) {
  for (const Shape& shape : {Shape{}, {0}, {7}, {5, 9}, {4, 1, 6}, {3, 0, 2}})
    for (const i64 side : {1, 2, 3, 100}) {
      const TileGrid grid(shape, Shape(shape.size(), side), DType::i32);
      const Array seen = Array::empty(shape, DType::i32);
      seen.fill(Value(0));
      i64 total = 0;
      for (i64 t = 0; t < grid.tiles(); ++t) {
        const Box box = grid.tile(t);
        total += box.size();
        EXPECT_EQ(grid.tiles_of(box), (box.size() > 0 ? std::vector<i64>{t} : std::vector<i64>{}));
        const auto store = memory_store(seen, grid.tile_shape());
        const Array part = read_box(*store, box);
        for (i64 k = 0; k < part.size(); ++k) ++part.host<std::int32_t>()[k];
        write_box(*store, box, part);
      }
      EXPECT_EQ(total, count_of(shape));
      for (i64 k = 0; k < seen.size(); ++k) EXPECT_EQ(seen.host<std::int32_t>()[k], 1);
    }
}

TEST(TileGrid, SquareTilesAreAsLargeAsAsked) {
  const TileGrid even = TileGrid::square({10000, 10000}, DType::f64);
  EXPECT_EQ(even.tile_shape(), (Shape{2048, 2048}));
  const TileGrid flat = TileGrid::square({8, 10'000'000}, DType::f64);
  EXPECT_EQ(flat.tile_shape(), (Shape{8, 524288}));
  EXPECT_EQ(TileGrid::rows({10000, 1000}, DType::f32, 1 << 20).tile_shape(), (Shape{262, 1000}));
  EXPECT_EQ(TileGrid::rows({4, 1000, 1000}, DType::f32, 4000).tile_shape(), (Shape{1, 1, 1000}));
}

TEST(TileGrid, RefusesWithASentence) {
  EXPECT_THROW(TileGrid({3, 4}, {2}, DType::f32), ShapeError);
  EXPECT_THROW(TileGrid({3, 4}, {2, 0}, DType::f32), ShapeError);
  const TileGrid grid({3, 4}, {2, 2}, DType::f32);
  EXPECT_THROW(grid.tile(4), IndexError);
  EXPECT_THROW(grid.check("read", {{0, 3}, {1, 2}}), IndexError);
  EXPECT_EQ(to_text(Box{{0, 3}, {1, 2}}), "[0:1, 3:5]");
}

TEST(TileStore, ReadsAndWritesThroughViews) {
  const Array a = Array::empty({6, 10}, DType::f32);
  std::iota(a.host<float>(), a.host<float>() + 60, 0.0F);
  const auto store = memory_store(a.transpose(), {4, 4});
  const Array into = Array::empty({3, 2}, DType::f32).transpose();
  store->read({{1, 2}, {2, 3}}, into).wait();
  EXPECT_EQ(into.select(0, 0).select(0, 2).item().as<float>(), 41.0F);
  into.fill(Value(-1));
  store->write({{1, 2}, {2, 3}}, into).wait();
  EXPECT_EQ(a.host<float>()[41], -1.0F);
  EXPECT_EQ(a.host<float>()[40], 40.0F);
  EXPECT_THROW(store->read({{0, 0}, {2, 2}}, into), ShapeError);
  EXPECT_THROW(store->read({{0, 0}, {2, 3}}, into.astype(DType::f64)), DTypeError);
}

TEST(TileStore, GeneratesTilesWhenAsked) {
  int calls = 0;
  const auto store = generated_store("ramp", TileGrid({100, 100}, {10, 10}, DType::i64),
                                     [&](const Box& box, const Array& into) {
                                       ++calls;
                                       into.fill(Value(box.begin[0] * 100 + box.begin[1]));
                                     });
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(read_box(*store, {{20, 30}, {1, 1}}).item().as<i64>(), 2030);
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(store->write({{0, 0}, {1, 1}}, Array::empty({1, 1}, DType::i64)), IoError);
}

}  // namespace
}  // namespace tessera::store
