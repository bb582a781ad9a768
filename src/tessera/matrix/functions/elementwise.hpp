// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums, differences, products, quotients and powers of matrices element by element. Packed data of
// one form are combined as they are; forms are kept where the result has one: diagonal, triangular
// of one side, symmetric, antisymmetric; a triangle plus its own transpose is symmetric, a strict
// one minus it antisymmetric; a diagonal added to a triangular or symmetric matrix; in
// products (Hadamard) whatever is zero in either operand, and bits of bits. Everything else is
// dense, and so are quotients, powers and what was broadcast (axes of size 1, as NumPy). Dtypes by
// compute/promotion.hpp; integers never wrap (checked.hpp).
//   AnyMatrix s = add(a, b.transpose());   AnyMatrix h = multiply(a, c);   // element by element

#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// ShapeError where shapes do not broadcast.
TESSERA_API AnyMatrix add(const AnyMatrix& a, const AnyMatrix& b);
TESSERA_API AnyMatrix subtract(const AnyMatrix& a, const AnyMatrix& b);
TESSERA_API AnyMatrix multiply(const AnyMatrix& a, const AnyMatrix& b);
TESSERA_API AnyMatrix divide(const AnyMatrix& a, const AnyMatrix& b);
// Bits to the power of bits are bits. ArgumentError for integers to negative integers. To the power
// of a number: functions.hpp.
TESSERA_API AnyMatrix power(const AnyMatrix& a, const AnyMatrix& b);
// Both, either, or one of two matrices of bool: bits, triangular where that follows. DTypeError for
// numbers. op: bitwise_and, bitwise_or, bitwise_xor.
TESSERA_API AnyMatrix logical(ElementOp op, const AnyMatrix& a, const AnyMatrix& b);
// With a number, which adapts to the elements unless its kind is higher. Sums are dense; a matrix
// divided by a number keeps its form (integers: float64). A product is m.scaled(v).
TESSERA_API AnyMatrix add(const AnyMatrix& a, const Value& v);
TESSERA_API AnyMatrix subtract(const AnyMatrix& a, const Value& v);
TESSERA_API AnyMatrix subtract(const Value& v, const AnyMatrix& a);
TESSERA_API AnyMatrix divide(const AnyMatrix& a, const Value& v);
TESSERA_API AnyMatrix divide(const Value& v, const AnyMatrix& a);
TESSERA_API AnyMatrix power(const Value& v, const AnyMatrix& a);

}  // namespace tessera
