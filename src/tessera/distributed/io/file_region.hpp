// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hyperslab of numbers that lie in a file in row-major order, read and written run by run. Knows
// one process and one file; who has which part is distributed/io/io's business.
//   Region r = Region::of({rows, columns});  r.axes[1] = {3, 5, 1};   read_region(file, 128, 8, r,
//   to);

#include <vector>

#include "tessera/array/index.hpp"
#include "tessera/array/npy_file.hpp"

namespace tessera::dist {

struct TESSERA_API Region {
  Shape file;                    // of all the numbers
  std::vector<SliceRange> axes;  // what is meant of each axis; steps are positive
  static Region of(const Shape& file);
  Shape shape() const;
  // Numbers that lie side by side in the file and in the region.
  i64 run() const;
};

// Into dense memory; `data` is the file's offset of the first number, `item` the bytes of one.
void read_region(const FileReader& file, i64 data, i64 item, const Region& region, std::byte* to);

// A file that several processes write into; it exists.
class SharedWriter {
 public:
  explicit SharedWriter(const std::string& path);
  ~SharedWriter();
  SharedWriter(const SharedWriter&) = delete;
  SharedWriter& operator=(const SharedWriter&) = delete;
  void write(i64 offset, const void* from, i64 bytes);
  void write_region(i64 data, i64 item, const Region& region, const std::byte* from);
  void close();  // IoError for what the system kept to itself until now

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace tessera::dist
