// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items with their positions on their way to the buckets of a round, see Note [bounded argsort];
// piece by piece, in order of the ranks, then of positions. What bounded_argsort.cpp needs and
// nobody else.
//   exchange_buckets(items, splitters, false, slots, comm, bytes);

#include "tessera/distributed/sorting/select.hpp"

namespace tessera::dist {

// Where items between two splitters go; nowhere in this round: rank -1.
struct Destination {
  int rank = -1;
  std::uint16_t bucket = 0;
};

// The splitters of a round: around what each rank takes, by which most items are passed over, and
// between all buckets.
struct RoundSplitters {
  LocalSplitters ends, all;
  std::vector<Destination> destinations;  // between each two of all
};

// Slots of this rank's buckets of a round.
struct ReceiveSlots {
  i64* positions = nullptr;
  std::byte* values = nullptr;
  std::vector<std::vector<i64>> next;  // free slots by sender and bucket
  std::span<const i64> starts;         // the first position of each sender
};

// `wide`: positions take more than 32 bits; `piece`: bytes that travel at a time. Collective.
void exchange_buckets(const Array& items, const RoundSplitters& splitters, bool wide,
                      ReceiveSlots& slots, const Communicator& comm, i64 piece);

}  // namespace tessera::dist
