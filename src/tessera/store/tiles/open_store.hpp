// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whatever file of numbers can be used in place, by what it begins with: a tiled file, a .npy file
// or a dataset of an HDF5 file. And new ones, by the ending of their name.
//   auto s = open_store("x.npy", /*writable=*/true);   auto k = open_store("y.h5", false, "k");

#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

// IoError, with a reason, for every other file. `dataset`: of an HDF5 file, which may hold several.
TESSERA_API std::shared_ptr<TileStore> open_store(const std::string& path, bool writable = false,
                                                  const std::string& dataset = "");
// IoError for a name whose ending says a format that is not made in place (.npz, .zarr, .tessera,
// HDF5): whoever opens such a file by its name would find another one.
TESSERA_API void require_result_name(const std::string& path);
// Zeros: a .npy file for names that end so, a tiled file otherwise. `name` is the one that counts
// where the file will get another one than its path.
TESSERA_API std::shared_ptr<TileStore> create_store(const std::string& path, const TileGrid& grid,
                                                    const std::string& name = "");

}  // namespace tessera::store
