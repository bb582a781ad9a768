// SPDX-License-Identifier: Apache-2.0
#pragma once
// QR of tall matrices in stores, and what follows from it: A = Q R with m rows and n <= m columns,
// where some n x n numbers fit the budget. The first n rows become a triangle; panels of rows pass
// below it, each is reflected into the triangle and leaves its reflections in its place. That
// reads A once and ends with R. Q comes by a second pass from the last panel to the first, which
// turns reflections into rows of Q; those that find no room in memory wait in the store of Q.
// Householder reflections all the way: Q is orthonormal whatever the condition of A. The diagonal
// of R is real and not negative. In float32, float64, complex64 and complex128.
//   Array r = plan_qr(a, q, make_scratch, {.budget = 1 << 30}).run();

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// A run gives R, n x n in memory. Without q it reads A once and writes nothing; with it q becomes Q,
// and `scratch` is asked for a few rows for each panel when not all panels stay in memory.
TESSERA_API StreamPlan plan_qr(const StorePtr& a, const StorePtr& q, const MakeScratch& scratch,
                               const Options& options = {});

// The singular values of A as plan_qr finds R: u becomes U, m x n. A run gives Vh, and below it in
// row n the singular values, descending.
TESSERA_API StreamPlan plan_svd(const StorePtr& a, const StorePtr& u, const MakeScratch& scratch,
                                const Options& options = {});

// The adjoint of the pseudo-inverse, m x n: singular values of at most rtol times the largest count
// as zero.
TESSERA_API StreamPlan plan_pinv_adjoint(const StorePtr& a, const StorePtr& y, double rtol,
                                         const MakeScratch& scratch, const Options& options = {});

// Right sides B of shape (m) or (m, k) beside A, in one pass over both. A run gives n + 1 rows: R,
// beside it Q^H B, and below that the sum of |numbers|^2 of each column of B that Q does not reach.
TESSERA_API StreamPlan plan_qr_system(const StorePtr& a, const StorePtr& b,
                                      const Options& options = {});

}  // namespace tessera::streaming
