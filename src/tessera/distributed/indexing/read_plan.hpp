// SPDX-License-Identifier: Apache-2.0
#pragma once
// How x[key] is read once its masks are positions: what every rank decides alike from shapes,
// distributions and the positions that all of them know. get.cpp runs it, count() says what
// that sends. Not for use outside of the files that index.
//   const ReadPlan plan = plan_read(x, key, extent_of(key));   plan.by == ReadBy::known_rows

#include "tessera/distributed/indexing/route.hpp"
#include "tessera/distributed/indexing/rows/last_writers.hpp"

namespace tessera::dist {

// How much a key picks; at most, where a mask in it has not been counted.
struct Extent {
  Shape lead, shape;
  bool known = true;
};
Extent extent_of(const NormalKey& key);

enum class ReadBy : std::uint8_t {
  everybody,       // every rank has the array: each answers for itself
  owner,           // one rank has what is read, and sends it to all when somebody reads the result
  entries,         // every rank has the array: each answers for the entries that it has
  parts,           // each rank answers from its own part
  intervals,       // the same, and intervals change hands
  known_rows,      // all ranks know the positions: owners send rows
  requested_rows,  // the ranks of the positions ask the owners
  unforeseen       // positions on the split axis that only some ranks know yet
};

struct ReadPlan {
  const DNDarray& x;
  NormalKey key;
  Extent most;
  bool gathers = false;  // all ranks get the positions first; then the plan is made again
  ReadBy by = ReadBy::everybody;
  RoutePlan route = {};
  void count(Transfers& t) const;
};
ReadPlan plan_read(const DNDarray& x, NormalKey key, Extent most);

// The distributed positions that all ranks get; a bound where a mask beside them is not counted.
void count_gathered(Transfers& t, const DNDarray& x, const NormalKey& key, bool gathers,
                    bool known);

// A slice with a negative step: what each rank picks of its own part goes straight to its place,
// each element once.
struct IntervalMove {
  Once once;
  RoutePlan way;  // of the key with each element once
  Relayout relayout;
  explicit IntervalMove(const ReadPlan& plan);
};

}  // namespace tessera::dist
