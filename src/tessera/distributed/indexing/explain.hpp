// SPDX-License-Identifier: Apache-2.0
#pragma once
// What x[key], x[key] = value or another distribution will do, before it does it: the route, the result's shape and
// distribution, and what each rank sends. Nothing is sent to find out, so bytes that depend on the
// values of a distributed key are bounds and say so.
//   explain(x, key).str();   // "x[[7, 2, 8]]: unordered, replicated key; 2 messages, 16 bytes …"

#include "tessera/distributed/indexing/plan.hpp"

namespace tessera::dist {

// An ExchangePlan, added up.
struct TESSERA_API Explanation : ExchangePlan {
  explicit Explanation(ExchangePlan plan = ExchangePlan(1));
  i64 messages = 0;                     // all ranks
  i64 index_bytes = 0, data_bytes = 0;  // all ranks
  std::vector<i64> sent;                // bytes by rank, index and data
  bool exact;                           // false: upper bounds, the key's values lie on other ranks
  std::string str() const;              // one line
};
TESSERA_API Explanation explain(const DNDarray& x, const DistIndex& key);
// Of x[key] = value.
TESSERA_API Explanation explain(const DNDarray& x, const DistIndex& key, const DNDarray& value);
// Of x.distributed_as(to), which resplit, balance, redistribute and gathered are.
TESSERA_API Explanation explain_relayout(const DNDarray& x, const Distribution& to);

}  // namespace tessera::dist
