// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of the elements of one matrix, and comparisons. What is zero stays zero under |x|, real
// and imaginary parts and powers above zero, so these keep the form: of an antisymmetric matrix
// |x| and even powers are symmetric. Properties that say where zeros are, and that halves mirror
// each other, are kept as well. Integers never wrap (checked.hpp). Comparisons give bits.
//   AnyMatrix s = power(m, Value(2));   bool same = all(compare(ElementOp::equal, m, n));

#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// Of complex numbers: real. OverflowError for the least of the signed integers.
TESSERA_API AnyMatrix absolute(const AnyMatrix& m);
TESSERA_API AnyMatrix real_part(const AnyMatrix& m);  // of real ones: the matrix itself
TESSERA_API AnyMatrix imag_part(const AnyMatrix& m);  // of real ones: zeros
// Each element to the power of a number, which adapts to the elements unless its kind is higher.
// Bits stay bits under integers; other powers than those above zero are dense. ArgumentError for
// integers to a negative integer. Powers of the matrix itself: matrix_power (solving.hpp).
TESSERA_API AnyMatrix power(const AnyMatrix& m, const Value& exponent);

// One of the six comparisons, element by element, with broadcasting: a matrix of bits. Numbers of
// different dtypes meet as in arrays. ShapeError where shapes do not broadcast.
TESSERA_API AnyMatrix compare(ElementOp op, const AnyMatrix& a, const AnyMatrix& b);
TESSERA_API AnyMatrix compare(ElementOp op, const AnyMatrix& a, const Value& v);
// Whether all, or any, elements are not zero. Waits.
TESSERA_API bool all(const AnyMatrix& m);
TESSERA_API bool any(const AnyMatrix& m);

}  // namespace tessera
