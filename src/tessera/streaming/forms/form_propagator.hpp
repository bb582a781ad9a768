// SPDX-License-Identifier: Apache-2.0
#pragma once
// K = C (aI + C)⁻¹ of a strictly triangular matrix on disk, as compute_k() of matrices in memory
// gives it: bits of C pass by squares, and K, sixty-four times as large, is made from below, group
// by group of squares, and written as it comes. Where a whole column of squares of K has room, K is
// never read back; otherwise what lies below a group is.
//   FormResult r = propagator_form(c, 2.0);   plan_propagator(c, 2.0, out, {.budget = 1 << 30}).run();

#include "tessera/streaming/forms/form_product.hpp"

namespace tessera::streaming {

// A strict Triangular of float64, of C's half. ArgumentError unless C is a TriangularBit or a strict
// Triangular of real numbers and a is finite, LinAlgError where a is 0.
TESSERA_API FormResult propagator_form(const FormSource& c, double a);
// `out` gets the squares on and above the diagonal (of a lower K: those of its transpose).
TESSERA_API StreamPlan plan_propagator(const FormSource& c, double a, const StorePtr& out,
                                       const Options& options = {});
// The side of those squares: tiles of that side are written whole.
TESSERA_API i64 propagator_side(const FormSource& c, const Options& options = {});

}  // namespace tessera::streaming
