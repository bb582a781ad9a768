// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which way a key goes, decided once for reading, writing and explaining. Pure: the same on every
// rank, from what every rank knows.
//   RoutePlan plan = route_of(x, key);   plan.route == Route::unordered

#include "tessera/distributed/exchange/exchange_plan.hpp"
#include "tessera/distributed/indexing/normalize.hpp"

namespace tessera::dist {

struct RoutePlan {
  Route route = Route::local;
  std::string reason;
  Shape shape;                // of the result
  Distribution distribution;  // of the result; no split: whole, or its owner's
  int owner = -1;             // scalar: who has it
  // local and descending: what of the result each rank's own part gives, along `axis` of the result
  // (as Boxes of relayout.hpp have it), before anything moves.
  i64 axis = -1;
  std::vector<i64> begins, ends;
  // Positions on the split axis: which of the key's arrays, and along which axis of `lead` the
  // entries are distributed.
  i64 array = -1, lead_axis = -1;
  bool requests = false;  // the positions themselves are distributed: owners have to be asked
};

// The axis along which the result is split.
std::optional<i64> split_of(const DNDarray& x, const NormalKey& key);
// x has a split. The key's arrays are whole on every rank, except where the one on the split axis
// is distributed.
RoutePlan route_of(const DNDarray& x, const NormalKey& key);

// True when the array on the split axis is distributed in a way that the result can take over.
bool keeps_distribution(const DNDarray& x, const NormalKey& key);

// Every rank has the indexed array: how its leading_index distributes the result, or the first
// array behind it where the leading_index repeats along that axis.
Partition part_of_leading_index(const NormalKey& key, int ranks);
// local and descending: what each rank's own part gives of the result.
Boxes boxes_of_own(const RoutePlan& plan);
// The slice on the split axis, of this rank's own part.
SliceRange own_range(const DNDarray& x, const NormalKey& key, const RoutePlan& plan, int rank);
// Ascending positions: those in this rank's part, relative to it.
std::vector<Array> own_positions(const DNDarray& x, const NormalKey& key, const RoutePlan& plan);

// local and descending: which part of a value each rank needs for what it writes.
Boxes boxes_of_target(const DNDarray& value, const RoutePlan& plan);
// The value's axis that lies on an axis of a target with so many, or -1 where it has none or
// repeats.
i64 own_axis(const DNDarray& value, i64 axis, i64 ndim);
// The commonest key, one slice with a positive step, needs no plan: the view that it gives of this
// rank's part, and the distribution of the views together. Nothing for other keys.
struct SoleSlice {
  Array own;
  Layout whole;
  Distribution distribution;
};
std::optional<SoleSlice> sole_slice(const DNDarray& x, const DistIndex& key);

}  // namespace tessera::dist
