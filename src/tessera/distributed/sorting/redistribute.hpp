// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items redistributed by value while they lie in no order, with bounded memory: those between two
// splitters go to a rank, piece by piece, and lie there in order of the ranks, then of positions.
// Private to the ordering functions of dist.
//   Array mine = redistribute(items, Selection(items, counts, comm).splitters(targets), comm);

#include <span>

#include "tessera/distributed/sorting/select.hpp"

namespace tessera::dist {

// Items between splitter k - 1 and splitter k go to rank k.
TESSERA_API Array redistribute(const Array& items, const LocalSplitters& splitters,
                               const Communicator& comm, const MemoryBudget& budget = {});

// All items in order, distributed as `part` says, with bounded memory beside the result.
TESSERA_API Array bounded_sort(const Array& items, std::span<const i64> counts,
                               const Partition& part, const Communicator& comm,
                               const MemoryBudget& budget = {});

}  // namespace tessera::dist
