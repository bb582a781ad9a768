// SPDX-License-Identifier: Apache-2.0
#pragma once
// Systems of equations and inverses of general matrices in stores, by LU with partial pivoting.
// Left-looking: some rows of A stay with all of their columns while the factors before them pass by
// in strips; columns are exchanged, which is partial pivoting of the transpose, so that a panel is
// whole rows, as they lie in the store. Exchanges are not carried back into what was written, but
// made again whenever a strip passes: every number of the factors is written once. Then columns of
// the right sides stay while the factors pass by twice. The factors need a store of their own. On a
// device all of it is computed there, within a budget of its memory.
//   solve(a, b, x, scratch, {.budget = 1 << 30});

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// A X = B; B and X of shape (n) or (n, m), `factors` as A, all in one dtype of float32, float64,
// complex64 and complex128. `exchanges`, n int32, lets a run begin at a later step. A run throws
// LinAlgError, with the pivot, for a singular matrix; X has not been touched then.
TESSERA_API StreamPlan plan_solve(const StorePtr& a, const StorePtr& b, const StorePtr& x,
                                  const StorePtr& factors, const Options& options = {},
                                  const StorePtr& exchanges = nullptr, Device device = cpu);
inline void solve(const StorePtr& a, const StorePtr& b, const StorePtr& x, const StorePtr& factors,
                  const Options& options = {}) {
  plan_solve(a, b, x, factors, options).run();
}

TESSERA_API StreamPlan plan_inverse(const StorePtr& a, const StorePtr& x, const StorePtr& factors,
                                    const Options& options = {},
                                    const StorePtr& exchanges = nullptr, Device device = cpu);
inline void inverse(const StorePtr& a, const StorePtr& x, const StorePtr& factors,
                    const Options& options = {}) {
  plan_inverse(a, x, factors, options).run();
}

}  // namespace tessera::streaming
