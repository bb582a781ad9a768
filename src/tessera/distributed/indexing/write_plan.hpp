// SPDX-License-Identifier: Apache-2.0
#pragma once
// How x[key] = value is written once the masks of the key are positions, as read_plan.hpp is for
// reading: set.cpp runs it, count() says what that sends. Not for use outside of the files
// that index.
//   const WritePlan plan = plan_write(x, key, value, extent_of(key));   plan.by == WriteBy::parts

#include "tessera/distributed/indexing/read_plan.hpp"

namespace tessera::dist {

enum class WriteBy : std::uint8_t {
  nothing,         // no element, nobody needs a value
  everybody,       // every rank has the array, and gets all of the value
  owner,           // one rank has what is written, and gets all of the value
  parts,           // each rank writes into its own part, and gets what of the value belongs there
  known_rows,      // all ranks know the positions: holders of the value send rows to owners
  requested_rows,  // the ranks of the positions tell the owners
  unforeseen       // positions on the split axis that only some ranks know yet
};

struct WritePlan {
  const DNDarray& x;
  NormalKey key;
  DNDarray value;  // trimmed(): no more axes than the target
  Extent most;
  bool gathers = false;  // all ranks get the positions first; then the plan is made again
  WriteBy by = WriteBy::nothing;
  RoutePlan route = {};    // of the key
  Assigned assigned = {};  // everybody, owner, parts: the same with each place once
  RoutePlan way = {};      // parts: of that key
  // everybody, owner, parts: what each rank needs of its value; none where all ranks have it
  std::optional<Relayout> relayout = {};
  void count(Transfers& t) const;
};
WritePlan plan_write(const DNDarray& x, NormalKey key, const DNDarray& value, Extent most);

}  // namespace tessera::dist
