// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed masks. A mask that covers the split axis is distributed as the array is
// (redistributed as bits where it is not); each rank then picks its own elements. Where the split
// axis is not the mask's first, the picked elements of the ranks interleave in NumPy's order: the
// ranks tell each other how many each has in the rows of what stands before the split axis, from
// which everybody knows where the elements go that it gives or gets.
//   MaskOrder order = RowCounts::of(x, mask).run(picked_by_row(x, mask, local), comm);
//   order.total();   // elements of x[mask]

#include "tessera/distributed/exchange/exchange_plan.hpp"
#include "tessera/distributed/indexing/normalize.hpp"

namespace tessera::dist {

struct MaskOrder;

// What ranks tell each other of the elements that they pick: a number of each for each group of rows.
struct RowCounts {
  i64 rows = 1, widest = 0;  // no rank has more than `widest` in one row
  i64 group = 1;             // rows that are counted together; the last may be fewer
  // Of a mask that is distributed as x is: the rows are what stands before x's split. `each`: one by
  // one.
  static RowCounts of(const DNDarray& x, const SoleMask& mask, bool each = false);
  // One number of each rank, for all of its part of a mask that is distributed so.
  static RowCounts by_rank(const DNDarray& mask, const Distribution& as);
  i64 bytes() const;  // that each rank sends to each
  void count(Transfers& t) const;
  // What MaskRows sends afterwards where it needs more of single rows (a bound).
  void count_single_rows(Transfers& t) const;
  // From what each rank picks itself, by row (collective).
  MaskOrder run(std::vector<i64> own, const Communicator& comm) const;
};

// How many elements every rank picks in groups of rows; the same on all ranks, but for `own`.
struct MaskOrder : RowCounts {
  std::vector<i64> own;                  // by row: what this rank picks
  std::vector<std::vector<i64>> picked;  // by rank, then group
  std::vector<i64> before;               // elements of all ranks before each group, and in all
  i64 total() const { return before.back(); }
  std::vector<i64> counts() const;  // by rank
  // Of this rank's elements in the result, ascending; where rows are counted one by one.
  std::vector<i64> positions(int rank) const;
};
// How many rows are best counted together: where the ranks' elements interleave, a rank has to know
// the rows of its own part of the result only, and where the parts of others begin. By sizes alone.
TESSERA_API i64 rows_together(i64 rows, i64 widest, int ranks);
TESSERA_API i64 bytes_of_counts(i64 rows, i64 widest);  // so many numbers of 0 ... widest, packed
// How many elements a rank picks in each row of a mask that is distributed as x is (`local`, its
// part).
std::vector<i64> picked_by_row(const DNDarray& x, const SoleMask& mask, const Array& local);
// How many elements every rank picks by its own part of a mask: RowCounts::by_rank (collective).
MaskOrder counted_by_rank(const DNDarray& mask);

bool covers_split(const DNDarray& x, const SoleMask& mask);
// Whatever is true in the mask: another axis of the result has no entries.
bool picks_nothing(const IndexPlan& checked);
// The distributed masks of a key, by their places among its arrays.
struct UnalignedMasks {
  std::vector<i64> bits;     // all ranks get them: off x's split axis, or x whole and written to
  std::vector<i64> counted;  // they become distributed positions where they do not stand alone
  // All ranks need what they pick, as bits or positions: x whole, and its result split along
  // another axis than theirs.
  std::vector<i64> listed;
};
UnalignedMasks unaligned_masks(const DNDarray& x, const DistIndex& key, bool writes = false);
// Those that all ranks get as arrays of every rank, and of those that are listed the ones that have
// fewer bytes as bits; a mask remembers that (mask_known.hpp). Collective.
DistIndex with_whole_masks(const DistIndex& key, UnalignedMasks masks);
void count_whole_masks(Transfers& t, const DistIndex& key, const UnalignedMasks& masks);

}  // namespace tessera::dist
