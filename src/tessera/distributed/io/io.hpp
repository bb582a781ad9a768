// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed arrays in files that all ranks see: .npy (as NumPy writes them) and HDF5 (as h5py
// does). Each rank writes and reads its own bytes, at once with the others. A file is written under
// a temporary name and takes the place of the old one when all ranks have agreed that they are
// done: a run that is killed leaves the old one. Where a rank's bytes lie in pieces too small for a
// disk, arrays change hands first, in slabs of some megabytes. All calls are collective; what goes
// wrong on one rank is an IoError on all.
//   dist::save("x.npy", x);   DNDarray y = dist::load("x.npy", {.split = 1});
//   dist::load("x.h5", {.split = 0, .slices = {Slice{10, 20}, Slice{{}, {}, -2}}, .dataset =
//   "run"})

#include <optional>
#include <string>
#include <vector>

#include "tessera/array/index.hpp"
#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

struct LoadOptions {
  std::optional<i64> split{};   // of the result; balanced
  std::vector<Slice> slices{};  // of the first axes: what the result is, the rest is not read
  Device device = cpu;
  std::string dataset{};  // of an HDF5 file, a path inside it; empty: the only one
  Communicator comm{};
};
struct SaveOptions {
  std::string dataset = "data";  // of an HDF5 file
};

// By the ending of the name: .npy, .h5, .hdf5; IoError for another.
TESSERA_API DNDarray load(const std::string& path, const LoadOptions& options = {});
TESSERA_API void save(const std::string& path, const DNDarray& x, const SaveOptions& options = {});

TESSERA_API DNDarray load_npy(const std::string& path, const LoadOptions& options = {});
TESSERA_API void save_npy(const std::string& path, const DNDarray& x);

// NotAvailable where there is no plug-in for HDF5 (store/tiles/hdf5_store.hpp).
TESSERA_API DNDarray load_hdf5(const std::string& path, const LoadOptions& options = {});
TESSERA_API void save_hdf5(const std::string& path, const DNDarray& x,
                           const SaveOptions& options = {});

}  // namespace tessera::dist
