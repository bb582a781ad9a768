// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pass over vectors on disk of one shape and dtype in boxes of whole blocks: what a map needs whose
// numbers belong together in a grid of blocks. The grid may be moved cyclically; a box that leaves the
// end of an axis then goes on at its beginning, and is one array all the same. Private to the library.
//   plan_block_sweep("low rank", {{x, true}}, {x->grid().whole(), {0, 8, 8}, {0, 3, 5}}, work,
//                    {budget / 16, budget / 4}).run();

#include "tessera/solve/disk/vector_sweep.hpp"

namespace tessera {

struct SweptBlocks {
  store::Box part;  // of the vectors
  Shape blocks;  // numbers of a block along each axis, the last may have fewer; 0: all of the part
  Shape shift;   // where the first block begins in the part
};

// Called with the boxes of all vectors, in the order in which they were given, and with where the box
// begins, counted from the first block. It changes those that are to be written.
using BlockWork = std::function<void(const std::vector<Array>& vectors, const Shape& begin)>;

// Two boxes of each vector are held: of `wanted` bytes in all, or where that is less than two blocks of
// those, of `most` at most. DTypeError as plan_sweep, OutOfMemory where that is less, too.
struct BlockBudget {
  i64 wanted, most;
};
streaming::StreamPlan plan_block_sweep(std::string title, const std::vector<SweptVector>& vectors,
                                       const SweptBlocks& grid, const BlockWork& work,
                                       const BlockBudget& budget);

}  // namespace tessera
