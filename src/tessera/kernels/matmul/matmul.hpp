// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products of the last two axes, batched over the others, with transposition and conjugation
// taken from strides and flags instead of copies. BLAS for the four float types, exact loops for
// integers (which wrap as NumPy's).
//   Array c = matmul(a, b);   matmul spec with conj_a: c = conj(a) b

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// out = alpha * op(a) @ op(b) + beta * out, op = conj where flagged. All three of rank >= 2 and one
// dtype; batch axes (all but the last two) are already broadcast to out's. Any strides. beta == 0
// never reads out. Operands of a launch: a, b, out.
struct MatmulSpec {
  Operand a, b, out;
  bool conj_a = false, conj_b = false;
  c128 alpha{1, 0}, beta{0, 0};
  // Rank 2 only: elements of a with column - row < diagonal (upper) or > diagonal (lower) are not
  // stored. They hold zero and count as zero whatever they meet, infinities and NaN too.
  enum class Stored : std::uint8_t { all, upper, lower };
  Stored stored = Stored::all;
  i64 diagonal = 0;
};

TESSERA_API Array matmul(const Array& a, const Array& b);  // NumPy's rules for ranks 1, 2, n
TESSERA_API void matmul(const Array& a, const Array& b, const Array& out);
// The shape of the product; ShapeError with NumPy's texts.
TESSERA_API Shape matmul_shape(const Shape& a, const Shape& b);

}  // namespace tessera
