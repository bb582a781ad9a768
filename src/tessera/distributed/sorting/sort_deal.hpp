// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items dealt out by value while they lie in no order, with bounded memory: those between two cuts
// go to a rank, piece by piece, and lie there in order of the ranks, then of places. Private to the
// ordering functions of dist.
//   Array mine = deal_out(items, Counted(items, counts, comm).cuts(targets), comm);

#include <span>

#include "tessera/distributed/sorting/sort_counted.hpp"

namespace tessera::dist {

// Items between cut k - 1 and cut k go to rank k.
TESSERA_API Array deal_out(const Array& items, const CountedCuts& cuts, const Communicator& comm,
                           const Bounded& bounded = {});

// All items in order, dealt out as `part` says, with bounded memory beside the result.
TESSERA_API Array sort_counted(const Array& items, std::span<const i64> counts,
                               const Partition& part, const Communicator& comm,
                               const Bounded& bounded = {});

}  // namespace tessera::dist
