// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/between_passes.hpp"

#include <algorithm>

#include "tessera/streaming/plan/sampled_boxes.hpp"
#include "tessera/streaming/transforms/pass_pieces.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 least_tile = i64{64} << 10;   // bytes: of one transfer
constexpr i64 short_gap = i64{32} << 10;    // what stores read along rather than leave out
constexpr i64 cost_of_run = i64{16} << 10;  // bytes that pass in the time of one more request

// A strip in the axes of the store; along an axis in two it is wherever it has to be.
Shape strip_in_store(const TransformPass& p, bool reads, const Shape& shape) {
  Shape s = p.strip(reads ? p.in : p.out, p.step);
  if (const auto& two = reads ? p.read_in_two : p.written_in_two) {
    s.erase(two->axis + 1);
    s[two->axis] = shape[two->axis];
  }
  return s;
}

// Longer along the last axes first, up to `limit`.
void grow(Shape& tile, const Shape& limit, i64 elements) {
  for (i64 d = tile.size() - 1; d >= 0; --d)
    while (tile[d] < limit[d] && count_of(tile) < elements)
      tile[d] = std::min(limit[d], 2 * tile[d]);
}
void shrink(Shape& tile, i64 elements) {
  for (i64 d = 0; d < tile.size(); ++d)
    while (tile[d] > 1 && count_of(tile) > elements) tile[d] = (tile[d] + 1) / 2;
}

Shape at_least_one(Shape s) {
  for (i64& n : s) n = std::max<i64>(n, 1);
  return s;
}

// The same with the requests for short runs far apart, by the tiles of the source alone.
double with_requests(const TransformPass& reader, const store::TileGrid& source) {
  const Shape& tile = source.tile_shape();
  const Shape strip = at_least_one(reader.strip(reader.in, reader.step));
  i64 run = size_of(source.dtype()), behind = run;  // bytes that lie together; of the axes so far
  i64 d = tile.size() - 1;
  for (; d >= 0 && strip[d] >= tile[d]; --d) run = behind *= tile[d];
  if (d < 0) return 1;
  run *= strip[d];
  const i64 pitch = behind * tile[d], gap = pitch - run;
  bool goes_on = false;  // more than one run of a tile is asked for
  for (i64 k = 0; k < d; ++k) goes_on = goes_on || std::min(strip[k], tile[k]) > 1;
  if (!goes_on) return 1;
  const i64 moved = gap <= short_gap ? run : run + cost_of_run;
  return static_cast<double>(moved) / static_cast<double>(run);
}

}  // namespace

Shape tiles_between(const TransformPass& writer, const TransformPass& reader, const Shape& shape) {
  const Shape written = at_least_one(strip_in_store(writer, false, shape)),
              read = at_least_one(strip_in_store(reader, true, shape));
  const i64 element = size_of(writer.result);
  Shape tile = written;
  for (i64 d = 0; d < tile.size(); ++d) tile[d] = std::min(tile[d], read[d]);
  for (const Shape& limit : {read, written, at_least_one(shape)})
    grow(tile, limit, least_tile / element);
  shrink(tile, store::TileGrid::default_tile_bytes / element);
  return tile;
}

Shape tiles_of_result(const TransformPass& writer, const Shape& shape, i64 bytes) {
  const Shape written = at_least_one(strip_in_store(writer, false, shape));
  const i64 element = size_of(writer.result);
  const Shape square = store::TileGrid::square(shape, writer.result, bytes).tile_shape();
  Shape tile = written;
  for (i64 d = 0; d < tile.size(); ++d) {
    const i64 side = std::max<i64>(1, square[d]), parts = (written[d] + side - 1) / side;
    tile[d] = (written[d] + parts - 1) / parts;
  }
  grow(tile, written, bytes / element);
  return tile;
}

double slices_of_tiles(const TransformPass& reader, const store::TileStore& source) {
  if (reader.read_in_two || count_of(reader.work) == 0) return 1;
  ReadAlong along;
  each_sampled({reader.work, reader.step, source.grid().dtype()}, reader.step, [&](const Box& box) {
    for (const StripPiece& p : read_pieces(reader, box).pieces) along.add(source, p.box, p.part);
  });
  return std::max(along.share(), with_requests(reader, source.grid()));
}

}  // namespace tessera::streaming
