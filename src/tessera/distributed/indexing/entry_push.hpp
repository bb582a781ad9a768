// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[positions on the split axis] = value: rows go straight from who has them to who owns their
// places, the last of equal places alone. With positions that all ranks know, only rows travel;
// otherwise places travel with them.
//   push_rows(x, key, plan, value);

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/indexing/index_route.hpp"

namespace tessera::dist {

// The value fits the result's shape. Collective; IndexError on all ranks before anything is
// written.
void push_rows(const DNDarray& x, const NormalKey& key, const RoutePlan& plan,
               const DNDarray& value);

// What push_rows sends of a value that is dealt out, where all ranks know the positions.
Movement known_push(const DNDarray& x, const NormalKey& key, const DNDarray& value);

}  // namespace tessera::dist
