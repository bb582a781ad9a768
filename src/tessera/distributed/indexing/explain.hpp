// SPDX-License-Identifier: Apache-2.0
#pragma once
// What x[key] or x[key] = value will do, before it does it: the route, the result's shape and
// distributed, and what each rank sends. Nothing is sent to find out, so bytes that depend on the
// values of a distributed key are bounds and say so.
//   explain(x, key).str();   // "x[[7, 2, 8]]: unordered, replicated key; 2 messages, 16 bytes …"

#include "tessera/distributed/indexing/index_key.hpp"

namespace tessera::dist {

// The seed's routes by their names; `local` is its advanced local path and everything basic.
enum class Route : std::uint8_t {
  scalar,            // an integer on the split axis: the owner's
  distributed_mask,  // a mask that is dealt out as the array is
  local_mask,        // a mask that every rank has
  local,             // ordered or basic: each rank answers from what it holds
  descending_slice,  // a negative step on the split axis: intervals change hands
  unordered          // any integer arrays on the split axis
};
TESSERA_API std::string_view name(Route route);

struct TESSERA_API Explanation {
  Route route = Route::local;
  std::string reason;                   // one sentence
  Shape shape;                          // of the result; -1: as many as are true
  Distribution distribution;            // of the result; no part where values decide it
  i64 messages = 0;                     // all ranks
  i64 index_bytes = 0, data_bytes = 0;  // all ranks
  std::vector<i64> sent;                // bytes by rank, index and data
  bool exact = true;                    // false: upper bounds, the key's values lie on other ranks
  std::string str() const;
};
TESSERA_API Explanation explain(const DNDarray& x, const DistIndex& key);
// Of x[key] = value.
TESSERA_API Explanation explain(const DNDarray& x, const DistIndex& key, const DNDarray& value);

}  // namespace tessera::dist
