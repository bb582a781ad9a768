// SPDX-License-Identifier: Apache-2.0
#pragma once
// What somebody knows of the reads to come, said to the stores of an array on disk: bring a part
// near, let a part go, or the order in which parts will be read. Nothing here changes what is read.
// Of a formula the sources are meant. Works through the system's page cache, in whole tiles; a part
// that was brought near is read from there, everything else past it.
//   IOAccelerator io(a);   io.hint(Access::sequential);   io.prefetch({{0, 0}, {1024, n}});

#include <string_view>
#include <vector>

#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {

using store::Access;
// "normal", "sequential", "strided", "reverse", "random", "once"; ArgumentError lists them.
TESSERA_API Access access_from(std::string_view text);

class TESSERA_API IOAccelerator {
 public:
  explicit IOAccelerator(const StoredArray& array);
  // Begins to read a part; does not wait for it.
  void prefetch(const Box& box) const;
  // A part is not needed soon: what was written goes to disk, and its pages are given back, but for
  // those that are still being read.
  void discard(const Box& box) const;
  // sequential, reverse, strided: the tile that follows by that order is brought near as soon as
  // one is read; once: a tile is let go when the next is read; random: nothing is read ahead.
  void hint(Access pattern) const;
  // Bytes of the part's tiles that are in memory now, in whole pages.
  i64 resident(const Box& box) const;
  // What was written before is on disk when this returns.
  void flush() const;

 private:
  Box checked(std::string_view who, const Box& box) const;
  Shape shape_;
  std::vector<StorePtr> stores_;
};

}  // namespace tessera::streaming
