// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entries beside this rank's block: the last `width` of the nearest populated rank before it,
// the first of the nearest one after it. Nothing wraps around. Two messages per rank at most.
//   Halo h = dist::halo(x, 2);   Array wide = dist::with_halo(x, 2);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

struct Halo {
  Array previous, next;  // no entries along the split where there is no neighbour
};

// ArgumentError when the width is negative or beyond a populated block, SplitError without a split;
// on all ranks, before anything is sent. Empty ranks get and give nothing.
TESSERA_API Halo halo(const DNDarray& x, i64 width, bool previous = true, bool next = true);
// previous, local() and next, one after the other along the split: a copy.
TESSERA_API Array with_halo(const DNDarray& x, i64 width);

}  // namespace tessera::dist
