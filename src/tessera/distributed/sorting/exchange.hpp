// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of one-dimensional blocks that change hands: piece q of a block goes to rank q, what comes
// is laid down in order of the ranks. Sorting moves values this way, and answers go back the same
// way. Private to the ordering functions of dist.
//   Routes routes = routes_of(pieces, comm);   Array got = move_pieces(sorted, routes, comm);

#include <functional>
#include <span>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/array/partition.hpp"

namespace tessera::dist {

struct Routes {
  std::vector<i64> sends, receives;  // items, by rank
  bool few = false;                  // so few of every rank that they may go by way of others
  i64 received() const;
  i64 sources() const;  // how many ranks send something
  Routes back() const { return {receives, sends, few}; }
};
// From what this rank sends to each; one number to every other rank. `counts`: how many items each
// rank has, where all know that.
Routes routes_of(std::vector<i64> sends, const Communicator& comm,
                 std::span<const i64> counts = {});
// Lengths of the pieces that splitters make of `count` items; missing splitters are `count`.
std::vector<i64> pieces_of(std::span<const i64> splitters, i64 count, int ranks);

// On the device of `mine`, which is 1-d. Two ranks exchange one message at most.
Array move_pieces(const Array& mine, const Routes& routes, const Communicator& comm);

// Items that travel piece by piece: what a rank does in each round, for rank q.
struct PieceExchange {
  std::function<bool()> fill;               // some of its items are ready; whether more follow
  std::function<i64(std::size_t q)> ready;  // how many go there
  std::function<std::byte*(std::size_t q)> send_from, receive_at;
  std::function<void(std::size_t q, i64 received)> done;  // so many came, what was ready has gone
};
// Rounds until no rank has more. `item`: bytes. Collective.
void exchange_pieces(const PieceExchange& pieces, i64 item, const Communicator& comm);

// The smallest dtype for numbers 0 … n - 1 that travel.
DType counting_type(i64 n);
// The same for the longest of several blocks.
DType counting_type(std::span<const i64> counts);

// What came, as int64, with starts[r] added to what rank r sent.
Array shifted(const Array& received, const Routes& routes, std::span<const i64> starts);

// Items of all ranks in one order. `items` are this rank's, `part` distributes the first
// part.size() of all in that order. Either output may be left out.
struct Ordered {
  Array values, positions;
};
struct OrderWants {
  bool values = true, positions = false, descending = false;
  // What is meant by positions: those of the items in this rank's block, or what `given` says, in
  // a block of extents[rank] entries. Results count on through the blocks of all ranks.
  Array given = {};
  std::span<const i64> extents = {};
};
Ordered order_items(const Array& items, std::span<const i64> counts, const Partition& part,
                    const OrderWants& wants, const Communicator& comm);

}  // namespace tessera::dist
