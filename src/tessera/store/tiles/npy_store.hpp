// SPDX-License-Identifier: Apache-2.0
#pragma once
// A .npy file as a store, read and written in place: versions 1 to 3, C and Fortran order, every
// dtype that arrays are loaded in (array/npy.hpp), the other byte order as well. The header is
// checked against the length of the file and is never changed; nothing is mapped.
//   auto s = open_npy_store("x.npy", true);   write_box(*s, {{0, 0}, {1, 4}}, row);

#include <optional>

#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

class IoEngine;

struct NpyStoreOptions {
  bool fortran = false;                   // of a new file: by columns
  std::optional<bool> direct = {};        // past the page cache, which is the default
  std::shared_ptr<IoEngine> engine = {};  // otherwise IoEngine::shared()
  i64 tile_bytes = TileGrid::default_tile_bytes;
};

// IoError for every file that is not a whole and honest .npy file of numbers.
TESSERA_API std::shared_ptr<TileStore> open_npy_store(const std::string& path,
                                                      bool writable = false,
                                                      const NpyStoreOptions& options = {});
// Zeros, with the header that NumPy writes. IoError when there is a file of that name already, or no
// space for it (then it is removed).
TESSERA_API std::shared_ptr<TileStore> create_npy_store(const std::string& path, const Shape& shape,
                                                        DType dtype,
                                                        const NpyStoreOptions& options = {});

}  // namespace tessera::store
