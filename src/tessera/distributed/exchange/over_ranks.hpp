// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on arrays of which every rank has one: partial sums that become a total, totals that become
// offsets. What the ranks hold is put on top of each other in the order of the ranks and handed to
// an ordinary function of arrays, so results are the same bits on every rank and depend on the
// number of ranks only as the function does. Short arrays are gathered by all (one round); of long
// ones each rank works on a share (two rounds, each element of a rank leaves it twice at most), in
// segments of config().staging_bytes, so that little is held beside the arrays themselves.
//   fold_ranks(comm, {partial}, ranks, [](const Arrays& a) { return Arrays{sum(a[0])}; });

#include <functional>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera::dist {

using Arrays = std::vector<Array>;
using OverRanks = std::function<Arrays(const Arrays& stacked)>;

// `ranks`, ascending, take part and bring arrays of one shape; the dtypes may differ. `f` gets each
// as (number of ranks, elements) on the cpu, any number of elements at a time, and returns
// (elements) arrays. Every rank, also those that bring nothing, gets the whole answer in the shape
// of `mine` on its device. Ranks that bring nothing still pass arrays of that shape.
TESSERA_API Arrays fold_ranks(const Communicator& comm, const Arrays& mine,
                              const std::vector<int>& ranks, const OverRanks& f);

// As above, but `f` returns (number of ranks, elements): each rank that takes part gets its row,
// the others get nothing.
TESSERA_API Arrays scan_ranks(const Communicator& comm, const Arrays& mine,
                              const std::vector<int>& ranks, const OverRanks& f);

}  // namespace tessera::dist
