// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file of tiles in our own format (docs/guide/tiled-files.md): a page of header, then the tiles,
// each in one piece from a multiple of 4 KiB on. Rows, columns and transposes cost the same: whole
// tiles, read and written in one go past the page cache.
//   auto s = create_tiled_file("a.tiles", TileGrid::square({n, n}, DType::f64));
//   write_box(*s, s->grid().tile(0), tile);   auto again = open_tiled_file("a.tiles");

#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

class IoEngine;

struct TiledFileOptions {
  // The space is taken when the file is created, so that a full disk is said then. Without, it is
  // taken as tiles are written, and what was never written reads as zeros either way.
  bool reserve = true;
  bool column_major = false;              // the order of the numbers within a tile
  std::optional<bool> direct = {};        // past the page cache, which is the default
  std::shared_ptr<IoEngine> engine = {};  // otherwise IoEngine::shared()
  std::string about = {};                 // what TileStore::about() gives
};

// IoError when there is a file of that name already, or no space for it (then it is removed).
TESSERA_API std::shared_ptr<TileStore> create_tiled_file(const std::string& path,
                                                         const TileGrid& grid,
                                                         const TiledFileOptions& options = {});
// The same in a file that is there already and whose bytes are the caller's to give away: made as
// long as it must be, and it stays when this fails.
TESSERA_API std::shared_ptr<TileStore> format_tiled_file(const std::string& path,
                                                         const TileGrid& grid,
                                                         const TiledFileOptions& options = {});
// Bytes of the file of such tiles.
TESSERA_API i64 tiled_file_bytes(const TileGrid& grid);
// What TileStore::bytes_to_read() says of such a file, before there is one.
TESSERA_API i64 tiled_bytes_to_read(const TileGrid& grid, const Box& box, const Layout& into);
// IoError for what is not a whole tiled file.
TESSERA_API std::shared_ptr<TileStore> open_tiled_file(const std::string& path,
                                                       bool writable = false,
                                                       const TiledFileOptions& options = {});

}  // namespace tessera::store
