// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first page of a tiled file and where its tiles begin (docs/guide/tiled-files.md). Pure
// arithmetic and bytes; no file is touched.
//   TiledHeader h{TileGrid::square({n, n}, DType::f64)};   i64 at = h.tile_offset(3);

#include <span>
#include <string>

#include "tessera/store/tiles/tile_grid.hpp"

namespace tessera::store {

struct TESSERA_API TiledHeader {
  TileGrid grid;
  bool column_major = false;  // the order of the numbers within a tile
  std::string about = {};     // what the numbers stand for, in a few words; an array: none

  static constexpr i64 page = 4096;  // of the header; tiles begin at multiples of it
  std::string encode() const;
  // IoError, which `who` begins, for a page that is not the header of a tiled file. Checks all that
  // a page can say: whoever opens the file compares file_bytes() with its size.
  static TiledHeader decode(std::span<const std::byte> start, const std::string& who);

  // Tiles lie in row-major order of their places, each with the numbers that it has (those at an
  // edge have fewer), each from a multiple of the page on.
  i64 tile_offset(i64 number) const;
  i64 file_bytes() const;

 private:
  i64 bytes_from(i64 axis, i64 elements) const;
};

}  // namespace tessera::store
