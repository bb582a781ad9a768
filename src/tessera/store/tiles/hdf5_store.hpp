// SPDX-License-Identifier: Apache-2.0
#pragma once
// A dataset of an HDF5 file as a store, read and written in place. Where its numbers lie in the file
// as they do in memory, in one piece or in chunks that are all there, the IO engine moves them and
// the HDF5 library is only asked where they are; compressed, converted and missing chunks go through
// the library, one call at a time, and are not read ahead. Tiles are whole chunks. The HDF5 library
// is part of a plug-in (store/hdf5), opened when the first file is: it brings thirty others along.
//   auto s = open_hdf5_store("x.h5", "measured/k", /*writable=*/true);

#include <span>
#include <string>
#include <vector>

#include "tessera/array/index.hpp"
#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

class IoEngine;

struct Hdf5StoreOptions {
  std::optional<bool> direct = {};        // past the page cache, which is the default
  std::shared_ptr<IoEngine> engine = {};  // otherwise IoEngine::shared()
  i64 tile_bytes = TileGrid::default_tile_bytes;
};

// Whether the plug-in is there. All that follows is NotAvailable where it is not.
TESSERA_API bool has_hdf5();

// Without a name the file holds one dataset. IoError, with a reason, for what cannot be used so.
TESSERA_API std::shared_ptr<TileStore> open_hdf5_store(const std::string& path,
                                                       const std::string& dataset = "",
                                                       bool writable = false,
                                                       const Hdf5StoreOptions& options = {});

struct Hdf5Dataset {
  std::string name;  // "measured/k" is the dataset k of a group
  Shape shape;
  DType dtype = DType::f64;
};
// A new file with datasets that lie in one piece and are written by opening them: until then their
// numbers are any. Groups are made for them; `groups` names those that may stay empty. Names are
// UTF-8. IoError where there is a file of that name, or no space for it.
TESSERA_API void create_hdf5_file(const std::string& path, const std::vector<Hdf5Dataset>& sets,
                                  const std::vector<std::string>& groups = {});

struct Hdf5Description {
  DType dtype = DType::f64;
  Shape shape;  // (0,) where the dataset has a type and no numbers at all
  // Where the numbers are when they lie in one piece as we would write them, else -1.
  i64 place = -1;
};
TESSERA_API Hdf5Description describe_hdf5(const std::string& path, const std::string& dataset);
// A hyperslab, one range for each axis of the dataset, into a dense host array of its shape.
TESSERA_API void read_hdf5(const std::string& path, const std::string& dataset,
                           std::span<const SliceRange> axes, const Array& into);

}  // namespace tessera::store
