// SPDX-License-Identifier: Apache-2.0
#pragma once
// What x[key], x[key] = value or another distribution of x will exchange, as a value: the route, and
// the transfers in the order in which they happen, with the bytes of every rank. The steps that do
// an exchange (classes with run(), such as Relayout and GatherPositions) give their own transfers
// (movement(), count()), so that there is one place where it says who sends what. Nothing is sent
// here.
//   Transfers t(p);   t.to_all(Content::flags, 1);   t.add(Content::rows, move.movement(item));
//   plan_relayout(x, {1, part}).str();

#include "tessera/distributed/array/relayout.hpp"

namespace tessera::dist {

// The seed's routes by their names; `local` is its advanced local path and everything basic.
enum class Route : std::uint8_t {
  scalar,            // an integer on the split axis: the owner's
  distributed_mask,  // a mask that is distributed as the array is
  local_mask,        // a mask that every rank has
  local,             // ordered or basic: each rank answers from what it holds
  descending_slice,  // a negative step on the split axis: intervals change hands
  unordered,         // any integer arrays on the split axis
  relayout           // no key: all of the array in another distribution
};
TESSERA_API std::string_view name(Route route);

// What travels, and how it is written down.
enum class Content : std::uint8_t {
  flags,      // a byte: whether a rank has a problem, or needs something
  counts,     // how many elements ranks pick: packed, in as few bits as the largest takes
  bits,       // masks: one bit for each element
  positions,  // numbers of the narrowest type that holds the axis
  ids,        // sets of places: the shortest of numbers, runs, bits and gaps (id_codec.hpp)
  numbers,    // of entries, beside their ids: the fewest whole bytes
  rows        // elements, as they are
};
TESSERA_API std::string_view name(Content content);

struct TESSERA_API Transfer : Movement {
  Content content = Content::rows;
  bool exact = true;  // false: at most; known after counts or positions of other ranks
};

class TESSERA_API Transfers {
 public:
  explicit Transfers(int ranks) : ranks_(ranks) {}
  int ranks() const { return ranks_; }
  const std::vector<Transfer>& list() const { return list_; }

  void to_all(Content content, i64 bytes, bool exact = true);  // of each rank to each other one
  void from_owner(int owner, i64 bytes, bool exact = true);    // rows, to each other rank
  void add(Content content, Movement m, bool exact = true);
  // Everybody gets all of an array of which each element has so many bytes.
  void gather(Content content, const DNDarray& a, i64 item, bool exact = true);
  // Empty, to be filled with send().
  Transfer& pairs(Content content, bool exact = true);
  // What follows from it is a bound, even if it sends nothing.
  void at_most() { exact_ = false; }
  bool exact() const;  // also for one rank alone, which sends nothing

 private:
  Transfer& begin(Content content, Pattern pattern, bool exact);
  int ranks_ = 1;
  bool exact_ = true;
  std::vector<Transfer> list_;
};

struct TESSERA_API ExchangePlan {
  explicit ExchangePlan(int ranks) : transfers(ranks) {}
  Route route = Route::local;
  std::string reason;         // one sentence
  Shape shape;                // of the result; -1: as many as are true
  Distribution distribution;  // of the result; no part where values decide it
  Transfers transfers;
  std::string str() const;  // the route, then a line for each transfer
};

// Of x.distributed_as(to), which resplit, balance, redistribute and gathered are.
TESSERA_API ExchangePlan plan_relayout(const DNDarray& x, const Distribution& to);

}  // namespace tessera::dist
