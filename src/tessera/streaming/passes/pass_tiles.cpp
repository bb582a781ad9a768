// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/streaming/passes/pass.hpp"
#include "tessera/streaming/plan/sampled_boxes.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 small_step = 8 * leaf_elements;  // as of a small budget

Shape of_columns(const Shape& shape, DType dtype) {
  Shape turned = shape;
  std::reverse(turned.begin(), turned.end());
  Shape tile = store::TileGrid::rows(turned, dtype).tile_shape();
  std::reverse(tile.begin(), tile.end());
  return tile;
}

// What is read for each byte that is wanted, by whole tiles and by small steps.
struct ReadBy {
  double tiles = 1, steps = 1;
  bool is_once() const { return tiles <= much_more && steps <= much_more; }
  friend bool operator<(const ReadBy& a, const ReadBy& b) {
    if (a.tiles * much_more < b.tiles || b.tiles * much_more < a.tiles) return a.tiles < b.tiles;
    return a.steps * much_more < b.steps;
  }
};

double share_of(const Program& program, const store::TileGrid& tiles, const Shape& step) {
  ReadAlong along;
  each_sampled(tiles, step, [&](const Box& box) {
    for (const StorePtr& s : program.sources()) along.add(*s, beside(box, s->grid().shape()));
  });
  return along.share();
}
ReadBy read_by(const Program& program, const PassTiles& t) {
  return {share_of(program, t.grid, t.grid.tile_shape()),
          share_of(program, t.grid, t.filled(small_step))};
}

// All that might do; those that come first are taken where they do as well as others.
std::vector<PassTiles> candidates(const Program& program) {
  const Shape& shape = program.shape();
  std::vector<Shape> tiles;  // of the sources
  for (const StorePtr& s : program.sources())
    if (s->grid().shape() == shape) tiles.push_back(s->grid().tile_shape());
  const std::size_t own = tiles.size();
  for (std::size_t i = 0; i < own && !shape.empty(); ++i)
    for (std::size_t j = 0; j < own; ++j) {
      Shape mixed = tiles[i],
            larger = tiles[i];  // whole columns of one and whole rows of the other
      mixed.back() = tiles[j].back();
      for (i64 d = 0; d < shape.size(); ++d) larger[d] = std::max(larger[d], tiles[j][d]);
      tiles.push_back(mixed);
      tiles.push_back(larger);
    }
  tiles.push_back(store::TileGrid::rows(shape, program.dtype()).tile_shape());
  if (own > 0) tiles.push_back(of_columns(shape, program.dtype()));
  std::vector<PassTiles> out;
  for (std::size_t k = 0; k < tiles.size(); ++k)
    if (std::find(tiles.begin(), tiles.begin() + static_cast<i64>(k), tiles[k]) ==
        tiles.begin() + static_cast<i64>(k))
      for (const bool by_columns : {false, true})
        out.push_back({{shape, tiles[k], program.dtype()}, by_columns});
  return out;
}

}  // namespace

Shape PassTiles::filled(i64 elements) const {
  Shape tile = grid.tile_shape();
  if (by_columns) std::reverse(tile.begin(), tile.end());
  Shape out = store::TileGrid::rows(tile, DType::u8, elements).tile_shape();
  if (by_columns) std::reverse(out.begin(), out.end());
  return out;
}

PassTiles tiles_of_pass(const Program& program) {
  std::vector<PassTiles> all = candidates(program);
  if (count_of(program.shape()) == 0) return std::move(all.front());
  std::size_t best = 0;
  ReadBy least = read_by(program, all.front());
  for (std::size_t k = 1; k < all.size() && !least.is_once(); ++k)
    if (const ReadBy now = read_by(program, all[k]); now < least) {
      best = k;
      least = now;
    }
  return std::move(all[best]);
}

}  // namespace tessera::streaming
