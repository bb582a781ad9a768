// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes of a rectangle of numbers that lies in a file without gaps (a tile of a tiled file, all of
// a .npy file) to and from arrays of any strides. What is dense on both sides goes straight; all
// else through buffers of the engine, read in few large pieces with what lies between, written
// without touching what lies between.
//   Slab slab{file, offset, {2048, 2048}, DType::f64};
//   Transfer t = slab_transfer(engine, into, [&](auto& batch) { move_slab(...); });

#include <span>

#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

struct Slab {
  std::shared_ptr<const File> file;
  i64 offset = 0;  // of the first number
  Shape shape;
  DType dtype = DType::f64;
  bool column_major = false;
  bool direct = true;  // past the page cache where that works
  std::function<void(std::byte* data, i64 bytes)> convert = {};  // after reading, before writing
};

using Batch = std::shared_ptr<IoBatch>;

// Submits what moves `box` of the slab into or out of an array of its shape.
TESSERA_API void read_slab(IoEngine& engine, const Batch& batch, const Slab& slab, const Box& box,
                           const Array& into);
// Bytes that read_slab() takes from the file for memory of such a layout, if it lies as buffers do.
i64 slab_bytes_to_read(const Slab& slab, const Box& box, const Layout& into);
TESSERA_API void write_slab(IoEngine& engine, const Batch& batch, const Slab& slab, const Box& box,
                            const Array& from);
// A transfer of what `submit` submits to the batch it is given; `array` is kept until it is done.
TESSERA_API Transfer transfer(const Array& array, const std::function<void(const Batch&)>& submit);
// The part of an array that holds the elements of `part`, when all of it holds those of `box`.
TESSERA_API Array part_of(const Array& array, const Box& box, const Box& part);
TESSERA_API Box intersection(const Box& a, const Box& b);
// For files of others: bytes that are neither 0 nor 1 are no bools in C++, though NumPy takes them
// for True. Nothing for other dtypes.
TESSERA_API std::function<void(std::byte*, i64)> only_truth(DType dtype);
// The first bytes of a file, through the page cache, waited for: headers.
void move_now(IoEngine& engine, const std::shared_ptr<const File>& file, bool write,
              std::span<std::byte> bytes);

}  // namespace tessera::store
