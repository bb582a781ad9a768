// SPDX-License-Identifier: Apache-2.0
#pragma once
// The positions that put the items of all ranks in order, with bounded memory beside them. On the
// host. Private to the ordering functions of dist.
//   Array places = argsort_counted(items, counts, part, comm);

#include "tessera/distributed/sorting/sort_counted.hpp"

namespace tessera::dist {

// Of what `part` deals to this rank, the positions among the items of all ranks, one block behind
// the other; int64.
TESSERA_API Array argsort_counted(const Array& items, std::span<const i64> counts,
                                  const Partition& part, const Communicator& comm,
                                  const Bounded& bounded = {});

}  // namespace tessera::dist
