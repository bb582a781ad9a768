// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items dealt out by value while they lie in no order, with bounded memory: those between two cuts
// go to a rank, piece by piece, and lie there in order of the ranks, then of places. Private to the
// ordering functions of dist.
//   DealtItems d = deal_out(items, cuts, {{0, 1, 2}}, {.positions = true}, comm);

#include <span>

#include "tessera/dist/sort_counted.hpp"
#include "tessera/dist/sort_exchange.hpp"

namespace tessera::dist {

struct DealtItems {
  Array values, positions;  // positions in the block of the rank that sent them; uint32 or int64
  Routes routes;
};
struct DealWants {
  bool positions = false;
  i64 most = 0;  // items of the longest block of all ranks: says how wide positions are
};

// Items between cut k - 1 and cut k go to owners[k]; -1: they stay out. `owners` is ascending, one
// longer than the cuts.
TESSERA_API DealtItems deal_out(const Array& items, const CountedCuts& cuts,
                                std::span<const int> owners, const DealWants& wants,
                                const Communicator& comm, const Bounded& bounded = {});

// All items in order, dealt out as `part` says, with bounded memory beside the result.
TESSERA_API Array sort_counted(const Array& items, std::span<const i64> counts,
                               const Partition& part, const Communicator& comm,
                               const Bounded& bounded = {});
// Their positions among the items of all ranks, one block behind the other. Beside the result lie
// an eighth of the items with what it takes to sort them, or what is bounded if that is more.
TESSERA_API Array argsort_counted(const Array& items, std::span<const i64> counts,
                                  const Partition& part, const Communicator& comm,
                                  const Bounded& bounded = {});

}  // namespace tessera::dist
