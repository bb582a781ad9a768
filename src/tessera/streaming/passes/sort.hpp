// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stored array sorted along its last axis, in the order of sort() (stable, NaN last), with a few
// pieces of it in memory. Rows that fit are sorted in one pass. Longer ones are cut into sorted runs,
// which are merged as many at a time as the budget has windows of a sensible size for; all passes
// but the first and the last go between the output and a store beside it.
//   StreamPlan p = plan_sort(from, to, make_scratch, {.budget = 64 << 20});   p.run();

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// `to` has from's shape and dtype and is another store. OutOfMemory for budgets below the least.
// Where a row does not fit, a store "runs" of a row is asked for; one "taken", of a few numbers, as
// well where it `shall_restart` within merges.
TESSERA_API StreamPlan plan_sort(const StorePtr& from, const StorePtr& to,
                                 const MakeScratch& scratch, const Options& options = {},
                                 bool shall_restart = false);

}  // namespace tessera::streaming
