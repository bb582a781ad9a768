// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where to split sorted blocks of several ranks so that what comes first is exactly so many items:
// the multi-way selection behind sort, topk and unique. Equal items are ordered by rank, then by
// position, so that a splitter is exact, however many items are equal. Only samples travel, and
// only to the one rank that looks after a splitter. Private to the ordering functions of dist.
//   std::vector<i64> splitters = find_splitters(sorted, counts, {{250, 500}}, false, comm);

#include <span>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera::dist {

// Positions that sort x along an axis, NaN above everything; equal items in the order in which they
// stand, for both directions.
Array stable_order(const Array& x, i64 axis, bool descending);

// How many of this rank's items lie before item targets[k] of all ranks' items merged. `sorted`:
// this rank's, in order (1-d, any device); `counts`: how many each rank has; `targets`: ascending,
// as many as there are ranks at most, the same on all ranks. Note [splitters by samples]: rank k
// looks after target k. For each rank it knows an interval in which the splitter lies; a round asks
// for evenly spaced items of the intervals, bounds the position of each among all items from the
// other ranks' samples, and so shortens the intervals to about 3 / samples of what they were. An
// interval of no more items than samples is sent whole, which ends the search. The samples of the
// first round are the same for all splitters: every rank gets them and judges for itself. Later
// both sides know the intervals, so that a pair of ranks that has found its splitter says no more,
// and every rank hears who will ask again, so that all end together.
std::vector<i64> find_splitters(const Array& sorted, std::span<const i64> counts,
                                std::span<const i64> targets, bool descending,
                                const Communicator& comm);

// Items `positions` (ascending) of all ranks' items merged: each is the least of the items that
// follow the ranks' splitters. On the host, the same on all ranks.
Array merged_items(const Array& sorted, std::span<const i64> counts, std::span<const i64> positions,
                   const Communicator& comm);

}  // namespace tessera::dist
