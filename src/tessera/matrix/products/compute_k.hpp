// SPDX-License-Identifier: Apache-2.0
#pragma once
// K = C (aI + C)⁻¹ of a strictly triangular matrix: the propagator of a causal set from its links
// or relations. Solved row block by row block from the end: sums of rows selected by bits for what
// lies beyond a block, substitution within it; the inverse is never formed.
//   AnyMatrix k = compute_k(AnyMatrix::triangular_bit(x), 2.0);

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// Strictly upper (of a transposed view: lower) triangular, float64, where the context says. C is a
// triangular_bit, a strict triangular, or a dense matrix that is declared so (is_upper_triangular
// and has_zero_diagonal). ArgumentError for other matrices, complex ones and a == 0. Takes n²
// float64 numbers while it works, half of that in the end.
TESSERA_API AnyMatrix compute_k(const AnyMatrix& c, double a);

}  // namespace tessera
