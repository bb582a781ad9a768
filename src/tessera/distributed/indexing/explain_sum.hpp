// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adding up what an explanation says: who sends how much. Nothing is sent.
//   Explanation e = begin(x);   tell_all(e, 8);   gather_positions(e, indices, x.shape(0));

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/indexing/entry_rows.hpp"
#include "tessera/distributed/indexing/explain.hpp"
#include "tessera/distributed/indexing/index_route.hpp"

namespace tessera::dist {

Explanation begin(const DNDarray& x);
void at_most(Explanation& e);  // from now on it is a bound; still exact for one rank alone
void send(Explanation& e, int rank, i64 messages, i64 bytes, bool index = false);
void add(Explanation& e, const Movement& m, bool index = false);
void tell_all(Explanation& e, i64 bytes);  // every rank tells every other one

void gather_bits(Explanation& e, const DNDarray& mask);
// Distributed positions along an axis of `size` entries travel in the narrowest type.
void gather_positions(Explanation& e, const DNDarray& positions, i64 size);
void gather_value(Explanation& e, const DNDarray& value);  // everybody gets all of it

// A key that is foreseen: the masks that nobody has counted, and the most entries they can have.
struct Foreseen {
  NormalKey key;
  std::vector<DNDarray> bits, counted, listed;  // as LooseMasks of mask.hpp
  Shape lead;                                   // as long as it can be
  Shape shape;                                  // of the result, as large as it can be
  bool masks() const { return !bits.empty() || !counted.empty() || !listed.empty(); }
  Shape said() const;  // of the result, -1 where a mask decides
};
Foreseen foreseen(const DNDarray& x, const DistIndex& key, bool writes = false);
// What ranks pick in the rows of a mask (MaskRows), in groups of them; then in those rows where the
// part of a rank begins, then each in those of the others' parts.
void count_groups(Explanation& e, const DNDarray& x, const LoneMask& mask, i64 group);
void count_rows(Explanation& e, const DNDarray& x, const LoneMask& mask, i64 group);
// What becomes of masks before rows move, and of their positions where all ranks may get them.
void explain_masks(Explanation& e, const Foreseen& f);
// All ranks get the distributed positions of a key.
void explain_gathered_keys(Explanation& e, const DNDarray& x, const NormalKey& k);
// The distributed arrays beside the first (-1: all of them) are dealt out as it is: at most all
// ranks get them.
void gather_others(Explanation& e, const DNDarray& x, const NormalKey& k, i64 first);
// A mask that stands alone (explain_mask.cpp): x[mask], and x[mask] = value for a trimmed() value.
Explanation explain_mask(const DNDarray& x, const LoneMask& mask, const IndexPlan& checked);
Explanation explain_mask(const DNDarray& x, const LoneMask& mask, const IndexPlan& checked,
                         const DNDarray& value);
// A value that goes to the ranks that need it: all tell, then at most all get it.
void explain_where_needed(Explanation& e, const DNDarray& value);

// Bounds where only the ranks of the entries know what they ask: ids, then rows come back or go
// with them (per_place bytes). `entries[r]`: no more on rank r.
struct Asked {
  std::vector<i64> entries;
  bool rows_come_back = false;
  i64 per_place = 0;
};
void exchange_asked(Explanation& e, const DNDarray& x, const NormalKey& k, const Asked& asked);
i64 row_messages(const EntryRows& rows, i64 count);  // messages with so many rows from rank to rank
std::vector<i64> entries_by_rank(const NormalKey& k, const RoutePlan& plan);
// Each rank may have all entries of `lead`.
std::vector<i64> all_entries(const DNDarray& x, const Shape& lead);

}  // namespace tessera::dist
