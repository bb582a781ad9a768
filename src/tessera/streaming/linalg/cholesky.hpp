// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Cholesky factor of a positive matrix in a store: A = L L^H, L in another store with zeros
// above its diagonal. Left-looking: a panel of columns stays, all of its height or a block of its
// rows, while the columns of L before it pass by in strips; every number of L is written once. In
// float32, float64, complex64 and complex128.
//   cholesky(a, l, {}, {.budget = 1 << 30});

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

struct CholeskyOptions {
  bool upper = false;  // A = U^H U; only that triangle of A counts
};

// A run throws LinAlgError, with the order of the leading minor, for a matrix that is not positive.
TESSERA_API StreamPlan plan_cholesky(const StorePtr& a, const StorePtr& l,
                                     const CholeskyOptions& what = {}, const Options& options = {});
inline void cholesky(const StorePtr& a, const StorePtr& l, const CholeskyOptions& what = {},
                     const Options& options = {}) {
  plan_cholesky(a, l, what, options).run();
}

}  // namespace tessera::streaming
