// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file of another format whose numbers lie in one piece, by rows or by columns, as a store: its
// tiles are ranges of whole rows (of columns where they lie so), and any other box is read and
// written in place too. The header stays as it is. Private to the library and
// the plug-in for HDF5.
//   return std::make_shared<SlabFile>("npy file", slab, engine, tile_bytes);

#include "tessera/store/tiles/slab.hpp"
#include "tessera/store/tiles/tile_hints.hpp"

namespace tessera::store {

// Tiles of about `bytes` that lie without gaps in numbers of such a shape and order.
TileGrid grid_in_order(const Shape& shape, DType dtype, bool column_major, i64 bytes);

class TESSERA_API SlabFile final : public TileStore {
 public:
  // `kind` begins the description; `alone`: the file holds these numbers and no others. IoError
  // where it is shorter than its numbers.
  SlabFile(std::string kind, Slab slab, std::shared_ptr<IoEngine> engine, i64 tile_bytes,
           bool alone = false);

  const TileGrid& grid() const override { return grid_; }
  std::string describe() const override;
  bool writable() const override { return slab_.file->writable(); }
  bool on_disk() const override { return true; }
  std::string path() const override { return alone_ ? slab_.file->path() : std::string(); }
  std::string version() const override { return slab_.file->version(); }
  Transfer read(const Box& box, const Array& into) override;
  Transfer write(const Box& box, const Array& from) override;
  i64 bytes_to_read(const Box& box, const Layout& into) const override {
    return slab_bytes_to_read(slab_now(grid_.tiles_of(box)), box, into);
  }
  void advise(Access access) override { hints_.advise(access); }
  void prefetch(const Box& box) override;
  void discard(const Box& box) override;
  void flush() override;

 private:
  TileHints::Extent extent(i64 tile) const;
  Slab slab_now(const std::vector<i64>& tiles) const;
  std::shared_ptr<IoEngine> engine_now() const { return engine_ ? engine_ : IoEngine::shared(); }
  void check_length(std::string_view who) const;

  std::string kind_;
  bool alone_;
  Slab slab_;
  TileGrid grid_;
  std::shared_ptr<IoEngine> engine_;
  TileHints hints_;
};

}  // namespace tessera::store
