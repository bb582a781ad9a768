// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with packed halves as they lie: of a triangle only what is there is multiplied, of a
// symmetric matrix every element is read once. Floats and complex numbers only; halves accumulate
// in float32. Private to matrix/.
//   Array y = strips_times(a, {x, false}, c128(1), DType::f64, where);

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// Up to so many columns the memory decides: packed data are read as they lie.
inline constexpr i64 few_columns = 64;

// A full matrix and whether it is to be conjugated.
struct Flat {
  Array array;
  bool conj = false;
};

// out = alpha * op(a) op(b) + beta * out, for views on one device.
void gemm(const Flat& a, const Flat& b, const Array& out, c128 alpha, double beta);

// A block on the diagonal with both halves, of the upper one that strips hold.
Array whole_block(const Array& upper, bool anti);
// alpha * a @ x for a triangular, symmetric or antisymmetric matrix; its own scale included.
Array strips_times(const AnyMatrix& a, const Flat& x, c128 alpha, DType dtype, Device where);
// Two triangular matrices of one side.
AnyMatrix triangle_times(const AnyMatrix& a, const AnyMatrix& b, DType dtype, Device where);

}  // namespace tessera
