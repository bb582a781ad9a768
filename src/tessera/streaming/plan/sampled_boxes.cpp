// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/sampled_boxes.hpp"

namespace tessera::streaming {
namespace {

// Of n in a row: a few of them. Neighbours as well, as what is odd about a cut shows in some only.
std::vector<i64> some_of(i64 n) {
  std::vector<i64> out;
  for (const i64 k : {i64{0}, i64{1}, n / 2, n / 2 + 1, n - 2, n - 1})
    if (k >= 0 && k < n && (out.empty() || k > out.back())) out.push_back(k);
  return out;
}

}  // namespace

void each_sampled(const store::TileGrid& tiles, const Shape& step,
                  const std::function<void(const Box&)>& visit) {
  for (const i64 t : some_of(tiles.tiles())) {
    const Box tile = tiles.tile(t);
    const store::TileGrid parts(tile.shape, step, DType::u8);
    for (const i64 k : some_of(parts.tiles())) {
      Box part = parts.tile(k);
      for (i64 d = 0; d < part.begin.size(); ++d) part.begin[d] += tile.begin[d];
      visit(part);
    }
  }
}

}  // namespace tessera::streaming
