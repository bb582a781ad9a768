// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where views of one piece of memory lie when nothing is kept but the bytes that they mean. Views
// that share elements share them again; views that lie side by side stay in their order, where that
// leaves no gap. Pure arithmetic: nothing is copied here.
//   std::vector<CompactBlock> b = compact({{0, {4}, {2}, 8}, {8, {4}, {2}, 8}});   // one of 64
//   bytes

#include <optional>
#include <vector>

#include "tessera/base/shape.hpp"

namespace tessera {

// A view in bytes: where its first element starts, and strides that count elements of `item` bytes.
struct ByteView {
  i64 start = 0;
  Shape shape;
  Strides strides;
  i64 item = 1;
};

struct CompactBlock {
  struct Place {
    std::size_t view;  // position in the list that was given
    Layout layout;     // of its elements in the block
  };
  i64 bytes = 0;
  std::vector<Place> places;
  // The block is a copy of the bytes from here on: nothing in between was dropped.
  std::optional<i64> source{};
};

// Each view is in one block. All blocks together take exactly the bytes of the union of the views,
// except where views that share elements cannot be strided without a gap (two boxes that overlap at
// a corner): there the block is the smallest that repeats the rows of one of them.
TESSERA_API std::vector<CompactBlock> compact(const std::vector<ByteView>& views);

// Bytes of the union of the views: what is shared counts once, what is skipped does not count.
TESSERA_API i64 bytes_of(const std::vector<ByteView>& views);

}  // namespace tessera
