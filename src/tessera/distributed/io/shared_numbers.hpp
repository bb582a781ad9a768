// SPDX-License-Identifier: Apache-2.0
#pragma once
// A distributed array and the numbers of a file, whatever stands around them in the file: what .npy
// and HDF5 have in common.
//   save_numbers(path, x, [&](const std::string& name) { return write_head(name); });

#include <functional>

#include "tessera/array/npy.hpp"
#include "tessera/distributed/io/file_region.hpp"
#include "tessera/distributed/io/io.hpp"

namespace tessera::dist {

// Rank 0 calls `begin` with a temporary name: it makes the file, whole but for the numbers, and
// returns the offset of the first. Then all ranks write, and agree; then it is renamed to `path`.
using BeginFile = std::function<i64(const std::string& name)>;
void save_numbers(const std::string& path, const DNDarray& x, const BeginFile& begin);

// What rank 0 found out about a file, on all ranks; its IoError on all.
NpyHeader header_for_all(const Communicator& comm, const std::function<NpyHeader()>& look);

// This rank's hyperslab (axes in the order of the file) as a dense array on the host.
using ReadRegion = std::function<Array(const Region& region)>;
DNDarray load_numbers(const std::string& path, const NpyHeader& head, const LoadOptions& options,
                      const ReadRegion& read);

}  // namespace tessera::dist
