// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items with their places on their way to the stretches of a round, see Note [stretches]; piece by
// piece, in order of the ranks, then of places. What sort_places.cpp needs and nobody else.
//   deal_to_stretches(items, cuts, false, landing, comm, bytes);

#include "tessera/distributed/sorting/sort_counted.hpp"

namespace tessera::dist {

// Where items of an interval between cuts go; nowhere in this round: rank -1.
struct Goal {
  int rank = -1;
  std::uint16_t stretch = 0;
};

// The cuts of a round: around what each rank takes, by which most items are passed over, and
// between all stretches.
struct RoundCuts {
  CountedCuts ends, all;
  std::vector<Goal> goals;  // by interval between all cuts
};

// Slots of this rank's stretches of a round.
struct Landing {
  i64* places = nullptr;
  std::byte* values = nullptr;
  std::vector<std::vector<i64>> next;  // free slots by sender and stretch
  std::span<const i64> starts;         // the first position of each sender
};

// `wide`: places take more than 32 bits; `piece`: bytes that travel at a time. Collective.
void deal_to_stretches(const Array& items, const RoundCuts& cuts, bool wide, Landing& landing,
                       const Communicator& comm, i64 piece);

}  // namespace tessera::dist
