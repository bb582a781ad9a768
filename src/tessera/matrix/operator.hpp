// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix of any form as an operator from one dim to another: what is packed stays packed. The
// scale of the matrix is a factor in front, its transposition and conjugation are taken as views.
// Reads no elements, so properties that were declared have no say here.
//   NamedLinop A = matrix_operator(AnyMatrix::symmetric(x), dims("N"), dims("M"));   A.H()(y)

#include "tessera/linop/linop.hpp"
#include "tessera/matrix/any_matrix.hpp"

namespace tessera {

// A Matrix (linop/ops/matrix.hpp) of: dense: Dense, bit and triangular_bit: BitDense, triangular,
// symmetric and antisymmetric: Packed, diagonal and identity: DiagonalMap. DimError unless each
// side has one dim that the other has not.
TESSERA_API NamedLinop matrix_operator(const AnyMatrix& m, const Dims& ishape, const Dims& oshape);

}  // namespace tessera
