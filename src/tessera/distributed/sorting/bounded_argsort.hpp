// SPDX-License-Identifier: Apache-2.0
#pragma once
// The positions that put the items of all ranks in order, with bounded memory beside them. On the
// host. Private to the ordering functions of dist.
//   Array positions = bounded_argsort(items, counts, part, comm);

#include "tessera/distributed/sorting/select.hpp"

namespace tessera::dist {

// Of what `part` gives this rank, the positions among the items of all ranks, one block behind
// the other; int64.
TESSERA_API Array bounded_argsort(const Array& items, std::span<const i64> counts,
                                  const Partition& part, const Communicator& comm,
                                  const MemoryBudget& budget = {});

}  // namespace tessera::dist
