// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of matrices of any form and dtype. What is known of an operand is used: bits are
// counted, halves that are zero are left out, diagonals scale, identities do nothing; transposes
// and conjugates are handed to the kernels, not made. Declared properties are trusted: of a matrix
// that is marked diagonal or triangular only that part is read. Dtypes by compute/promotion.hpp;
// integers never wrap (checked.hpp). Matrices go where the context says, arrays stay where they
// are. Forms of results: identity @ x = x; diagonal @ diagonal diagonal; a diagonal with a
// triangular one, and triangular ones of one side, triangular; everything else dense.
//   AnyMatrix c = matmul(a, b.transpose());   Array y = matmul(a, x);

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// ShapeError unless a has as many columns as b has rows.
TESSERA_API AnyMatrix matmul(const AnyMatrix& a, const AnyMatrix& b);
// With a vector, a matrix or each matrix of a stack (leading axes); the result lies where the array
// does.
TESSERA_API Array matmul(const AnyMatrix& a, const Array& x);
TESSERA_API Array matmul(const Array& x, const AnyMatrix& b);
// x[i] y[j] of two vectors on one device: of bits a Bit, else a Dense.
TESSERA_API AnyMatrix outer(const Array& x, const Array& y);
// Whether there is a k with a[i, k] and b[k, j] that are not zero.
TESSERA_API AnyMatrix boolean_product(const AnyMatrix& a, const AnyMatrix& b);
// Whether there is a path of one or more steps from i to j over elements that are not zero.
TESSERA_API AnyMatrix transitive_closure(const AnyMatrix& a);

}  // namespace tessera
