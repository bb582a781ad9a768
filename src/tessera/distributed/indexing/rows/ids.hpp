// SPDX-License-Identifier: Apache-2.0
#pragma once
// What integer arrays ask of an array, as numbers: the positions along all indexed axes make one
// id, with the split axis as its most significant digit, so that sorted ids are sorted by owner.
// Ids are made distinct before they travel (id_codec.hpp). Host memory only; nothing is sent here.
//   Distinct d = distinct(ids);   owner_bounds(d.ids, part, row);

#include <span>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/distributed/array/partition.hpp"
#include "tessera/distributed/wire/id_codec.hpp"
#include "tessera/distributed/wire/number_list.hpp"

namespace tessera::dist {

// Sorted, each once. `slot[j]` says which of them entry j is.
struct Distinct {
  NumberList ids;
  NarrowList slot;
};
TESSERA_API Distinct distinct(std::span<const i64> entries);
// The same without slots, of those entries that lie in [first, last).
TESSERA_API std::vector<i64> distinct_within(std::span<const i64> entries, i64 first, i64 last);

// Sorted, each once, with the last entry that has it: whose value stays in an assignment.
struct LastWriters {
  NumberList ids;
  NumberList entry;
};
TESSERA_API LastWriters last_writers(std::span<const i64> entries);

// Where each rank's ids start in a sorted list: p + 1 numbers. `row` ids belong to one entry of the
// split axis.
TESSERA_API std::vector<i64> owner_bounds(std::span<const i64> sorted, const Partition& part,
                                          i64 row);

Array list_of(std::span<const i64> numbers);  // of the host

}  // namespace tessera::dist
