// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/slab_file.hpp"

#include <algorithm>

namespace tessera::store {
namespace {

Shape reversed(Shape s) {
  std::reverse(s.begin(), s.end());
  return s;
}

}  // namespace

TileGrid grid_in_order(const Shape& shape, DType dtype, bool column_major, i64 bytes) {
  if (!column_major) return TileGrid::rows(shape, dtype, bytes);
  return {shape, reversed(TileGrid::rows(reversed(shape), dtype, bytes).tile_shape()), dtype};
}

SlabFile::SlabFile(std::string kind, Slab slab, std::shared_ptr<IoEngine> engine, i64 tile_bytes,
                   bool alone)
    : kind_(std::move(kind)),
      alone_(alone),
      slab_(std::move(slab)),
      grid_(grid_in_order(slab_.shape, slab_.dtype, slab_.column_major, tile_bytes)),
      engine_(std::move(engine)),
      hints_(slab_.file, grid_.tiles(), [this](i64 n) { return extent(n); }) {
  check_length("open");
}

std::string SlabFile::describe() const {
  return cat(kind_, " ", slab_.file->path(), ", ", tessera::to_text(grid_.shape()), " ",
             name(grid_.dtype()), slab_.column_major ? ", by columns" : "");
}

Transfer SlabFile::read(const Box& box, const Array& into) {
  check_transfer("read", grid_, box, into);
  require<ArgumentError>(into.storage().writable(), "read: the array is read-only");
  const std::vector<i64> tiles = grid_.tiles_of(box);
  const std::shared_ptr<IoEngine> engine = engine_now();
  const Slab slab = slab_now(tiles);
  Transfer t =
      transfer(into, [&](const Batch& batch) { read_slab(*engine, batch, slab, box, into); });
  for (const i64 n : tiles) hints_.after_read(n);
  return t;
}

Transfer SlabFile::write(const Box& box, const Array& from) {
  check_transfer("write", grid_, box, from);
  require<IoError>(writable(), "write: '", slab_.file->path(), "' was opened to be read only");
  check_length("write");
  const std::shared_ptr<IoEngine> engine = engine_now();
  const Slab slab = slab_now(grid_.tiles_of(box));
  return transfer(from, [&](const Batch& batch) { write_slab(*engine, batch, slab, box, from); });
}

void SlabFile::prefetch(const Box& box) {
  for (const i64 n : grid_.tiles_of(box)) hints_.prefetch(n);
}

void SlabFile::discard(const Box& box) {
  for (const i64 n : grid_.tiles_of(box)) hints_.discard(n);
}

void SlabFile::flush() {
  slab_.file->wait_idle();
  if (writable()) slab_.file->sync();
}

TileHints::Extent SlabFile::extent(i64 tile) const {
  const Box box = grid_.tile(tile);
  const bool turned = slab_.column_major;
  const Layout all = Layout::contiguous(turned ? reversed(grid_.shape()) : grid_.shape());
  const Shape begin = turned ? reversed(box.begin) : box.begin;
  i64 first = 0;
  for (i64 d = 0; d < begin.size(); ++d) first += begin[d] * all.strides[d];
  const i64 item = size_of(grid_.dtype());
  return {slab_.offset + first * item, box.size() * item};
}

Slab SlabFile::slab_now(const std::vector<i64>& tiles) const {
  Slab slab = slab_;
  for (const i64 n : tiles) slab.direct = slab.direct && !hints_.is_near(n);
  return slab;
}

// Writing behind the end would make the file longer again, with zeros where numbers were.
void SlabFile::check_length(std::string_view who) const {
  const i64 size = slab_.file->size(), needed = slab_.offset + grid_.bytes();
  require<IoError>(size >= needed, who, ": '", slab_.file->path(), "' has ", size,
                   " bytes, and its numbers end at byte ", needed, ": it was cut off");
}

}  // namespace tessera::store
