// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solves with a triangle in a store, and with a Cholesky factor: op(T) X = B, L L^H X = B. Columns
// of the right sides, as many as the budget allows, stay with all of their rows while the triangle
// passes by once (twice for both halves of a Cholesky factor). B and X are stores of shape (n) or
// (n, m), in one dtype of float32, float64, complex64 and complex128 with T.
//   solve_triangular(t, b, x, {.lower = true}, {.budget = 1 << 30});

#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

using linalg::TriangularOptions;

// A run throws LinAlgError for a zero on the diagonal.
TESSERA_API StreamPlan plan_solve_triangular(const StorePtr& t, const StorePtr& b,
                                             const StorePtr& x, const TriangularOptions& what = {},
                                             const Options& options = {});
inline void solve_triangular(const StorePtr& t, const StorePtr& b, const StorePtr& x,
                             const TriangularOptions& what = {}, const Options& options = {}) {
  plan_solve_triangular(t, b, x, what, options).run();
}

// With the factor that cholesky() wrote: the lower one, or the upper one.
TESSERA_API StreamPlan plan_cholesky_solve(const StorePtr& l, const StorePtr& b, const StorePtr& x,
                                           bool upper = false, const Options& options = {});
inline void cholesky_solve(const StorePtr& l, const StorePtr& b, const StorePtr& x,
                           bool upper = false, const Options& options = {}) {
  plan_cholesky_solve(l, b, x, upper, options).run();
}

// What solves ask of a square matrix, right sides and the store of the result; private.
void require_system(std::string_view who, const StorePtr& a, const StorePtr& b, const StorePtr& x);

}  // namespace tessera::streaming
