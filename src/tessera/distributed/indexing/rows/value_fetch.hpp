// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of an assigned value straight from who has them to who writes them: they ask by number.
//   Array rows = rows_from_holders(value, plan, x.part(), entries);

#include "tessera/distributed/indexing/rows/value_rows.hpp"

namespace tessera::dist {

// The positions are distributed, by `part` along `lead_axis`. A value that is distributed otherwise
// either goes to the entries first and with them to the owners of their places (all of it, where it
// repeats along them), or the owners get the entries' numbers and ask with them who has the rows:
// true where that is fewer bytes, a row twice against a number twice, or the rows of entries
// against all of the value for every owner.
bool straight_to_places(const DNDarray& value, const IndexPlan& plan, i64 lead_axis,
                        const Partition& part);
// (n, rest...) of this rank's entries, by their numbers among all (collective). `places` says which
// ranks may have entries. No array where there are none.
Array rows_from_holders(const DNDarray& value, const IndexPlan& plan, const Partition& places,
                        std::span<const i64> entries);
// What that sends for so many entries of each rank. A bound.
void count_from_holders(Transfers& t, const DNDarray& value, const IndexPlan& plan, i64 entries);

}  // namespace tessera::dist
