// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy's .npz archives: a zip file with one .npy file per array, stored or deflated, zip64
// included. The whole directory is checked when the file is opened (positions, overlaps, sizes
// against a limit), each array's header before its memory is taken, each checksum after reading.
// Names are keys only, never paths.
//   save_npz("run.npz", {{"x", x}, {"y", y}}, /*compressed=*/true);   Array x =
//   NpzFile("run.npz").read("x");

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/array/npy.hpp"

namespace tessera {

using NamedArrays = std::vector<std::pair<std::string, Array>>;

struct NpzOptions {
  i64 most_bytes = i64{1} << 36;  // of all arrays together, as they say themselves; more is refused
};

class TESSERA_API NpzFile {
 public:
  explicit NpzFile(const std::string& path, const NpzOptions& options = {});
  std::vector<std::string> names() const;  // without ".npy", in the order of the directory
  bool contains(const std::string& name) const;
  Array read(const std::string& name) const;  // IndexError for an unknown name lists what there is

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

TESSERA_API NamedArrays load_npz(const std::string& path, const NpzOptions& options = {});
// ArgumentError when two names are equal. Either the whole file is there afterwards or the old one.
TESSERA_API void save_npz(const std::string& path, const NamedArrays& arrays,
                          bool compressed = false);
// The same of arrays that need not be in memory.
using NamedWriters = std::vector<std::pair<std::string, NpyWriter>>;
TESSERA_API void write_npz(const std::string& path, const NamedWriters& files,
                           bool compressed = false);

}  // namespace tessera
