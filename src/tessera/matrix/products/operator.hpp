// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix of any form as an operator from one dim to another: what is packed stays packed. The
// scale of the matrix is a factor in front, its transposition and conjugation are taken as views.
// Declared properties are trusted as the product trusts them: a matrix that is said to be zero, the
// identity, diagonal or triangular is held as that and nothing else of it is read; one that is said
// to be (real) symmetric, Hermitian, or either with the other sign is its own adjoint; the normal
// of a unitary one is the identity.
//   NamedLinop A = matrix_operator(AnyMatrix::symmetric(x), dims("N"), dims("M"));   A.H()(y)

#include "tessera/linop/core/state.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// A Matrix (linop/ops/matrix.hpp) of: dense: Dense, bit and triangular_bit: BitDense, triangular,
// symmetric and antisymmetric: Packed, diagonal and identity: DiagonalMap. DimError unless each
// side has one dim that the other has not.
TESSERA_API NamedLinop matrix_operator(const AnyMatrix& m, const Dims& ishape, const Dims& oshape);

// What a description (linop/state.hpp) may hold of this layer.
TESSERA_API OperatorReaders matrix_readers();

}  // namespace tessera
