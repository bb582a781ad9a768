// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of a whole matrix, and products of two vectors. Packed data are read once, as they lie;
// sums of integers are exact (OverflowError where 64 bits do not hold them). A value that is known
// already is not computed again; of a matrix that may be changed it is kept
// (properties().derived()).
//   Value t = trace(m);   double f = frobenius_norm(m);

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

TESSERA_API Value sum(const AnyMatrix& m);  // of integers and bits: int64 or uint64
// Of each column (axis 0) or row (axis 1): bits are counted, integers summed in 64 bits.
TESSERA_API Array sum(const AnyMatrix& m, i64 axis);
TESSERA_API Value trace(const AnyMatrix& m);  // ShapeError unless square; reads the diagonal alone
TESSERA_API double frobenius_norm(const AnyMatrix& m);
TESSERA_API Value sum(AnyMatrix& m);
TESSERA_API Value trace(AnyMatrix& m);
TESSERA_API double frobenius_norm(AnyMatrix& m);

// Sum of x[i] y[i], nothing conjugated, of two vectors on one device; bits are counted.
TESSERA_API Value dot(const Array& x, const Array& y);
// The same of matrices of one row or one column.
TESSERA_API Value dot(const AnyMatrix& x, const AnyMatrix& y);
// The vector product of two vectors of three elements on one device.
TESSERA_API Array cross(const Array& x, const Array& y);

}  // namespace tessera
