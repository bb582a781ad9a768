// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed masks. A mask that covers the split axis is dealt out as the array is (re-dealt as
// bits where it is not); each rank then picks its own elements. Where the split axis is not the
// mask's first, the picked elements of the ranks interleave in NumPy's order: the ranks tell each
// other how many each has in every row of what stands before the split axis, from which everybody
// knows where every element goes.
//   MaskOrder order = order_of(local_mask, rows, comm);   order.total

#include "tessera/dist/index_normal.hpp"

namespace tessera {

// How many elements every rank picks in every row; the same on all ranks.
struct MaskOrder {
  i64 rows = 1;
  std::vector<std::vector<i64>> picked;  // by rank, then row
  std::vector<i64> before;               // elements of all ranks before each row; rows + 1 of them
  i64 total() const { return before.back(); }
  std::vector<i64> counts() const;             // by rank
  std::vector<i64> positions(int rank) const;  // of its elements in the result, ascending
};
// `mask` is this rank's part, dense; its elements are `rows` rows. `widest`: no rank has more in
// one row.
MaskOrder order_of(const Array& mask, i64 rows, i64 widest, const Communicator& comm);

i64 bytes_of_counts(i64 rows, i64 widest);  // what each rank tells each other for it
// Of a mask over axes of x that is dealt out as x is: its rows are what stands before x's split.
MaskOrder order_of_mask(const DNDarray& x, const LoneMask& mask, const Array& local);

// Elements in NumPy's order, dealt out by `to`: `mine` has this rank's elements along its first
// axis.
Array put_in_order(const Array& mine, const MaskOrder& order, const Partition& to,
                   const Communicator& comm);

bool covers_split(const DNDarray& x, const LoneMask& mask);
// The distributed masks of a key, by their places among its arrays.
struct LooseMasks {
  std::vector<i64> bits;     // all ranks get them: off x's split axis, or x whole and written to
  std::vector<i64> counted;  // they become distributed positions where they do not stand alone
};
LooseMasks loose_masks(const DNDarray& x, const DistIndex& key, bool writes = false);
DistIndex with_whole_masks(const DistIndex& key, const LooseMasks& masks);
// This rank's part of a mask, dealt out as x is.
Array aligned(const DNDarray& x, const LoneMask& mask);
// A boolean array in another spread: an eighth of a byte for each element that travels.
Array relayout_bits(const DNDarray& mask, const Spread& to);

DNDarray read_masked(const DNDarray& x, const DistIndex& key, const LoneMask& mask,
                     const IndexPlan& checked);
void write_masked(const DNDarray& x, const DistIndex& key, const LoneMask& mask,
                  const IndexPlan& checked, const DNDarray& value);

}  // namespace tessera
