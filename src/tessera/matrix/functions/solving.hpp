// SPDX-License-Identifier: Apache-2.0
#pragma once
// Systems, inverses, determinants and spectra of matrices of any form. What is known of a matrix is
// used: identities and diagonals cost nothing, triangles are substituted strip by strip, declared
// properties are trusted and never verified; everything else is dense algebra
// (kernels/linalg/linalg.hpp), where the context says. A scale stays a factor: it is neither
// multiplied in nor lost. Never through the inverse. A matrix that cannot be treated is an
// LinAlgError ("Singular matrix ..."). Determinants, eigenvalues and norms that are known already
// are not computed again; of a matrix that may be changed they are kept (properties().derived()).
//   Array x = solve(m, b);   AnyMatrix y = inverse(2.0 * m);   slogdet(m).logabsdet

#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// The form of the inverse is that of the matrix; of unitary ones a view.
TESSERA_API AnyMatrix inverse(const AnyMatrix& m);
// m @ m @ ... n times; of 0 the identity, of negative n powers of the inverse.
TESSERA_API AnyMatrix matrix_power(const AnyMatrix& m, i64 n);
// m x = b, b a vector, a matrix or a stack of them; x lies where b does.
TESSERA_API Array solve(const AnyMatrix& m, const Array& b);
// Of one triangle of m, which alone is read.
TESSERA_API Array solve_triangular(const AnyMatrix& m, const Array& b,
                                   const linalg::TriangularOptions& options = {});
TESSERA_API Value determinant(const AnyMatrix& m);  // a real or a complex number
TESSERA_API Value determinant(AnyMatrix& m);
struct LogDeterminant {
  Value sign;
  double logabsdet = 0;
};
TESSERA_API LogDeterminant slogdet(const AnyMatrix& m);  // nothing overflows on the way

TESSERA_API linalg::Lu lu(const AnyMatrix& m);
// m = L Lᴴ: a lower Triangular, of diagonals a Diagonal.
TESSERA_API AnyMatrix cholesky(const AnyMatrix& m);
TESSERA_API linalg::Qr qr(const AnyMatrix& m, linalg::QrMode mode = linalg::QrMode::reduced,
                          bool pivoted = false);

// Of a Hermitian matrix, of which one triangle is read; ascending.
TESSERA_API linalg::Eigh eigh(const AnyMatrix& m, bool lower = true);
TESSERA_API Array eigvalsh(const AnyMatrix& m, bool lower = true);
// Of any square matrix; complex. Values of real antisymmetric matrices have no real part and come
// in pairs ±, those of Hermitian ones no imaginary part, to the last bit.
TESSERA_API linalg::Eig eig(const AnyMatrix& m, bool left = false);
TESSERA_API Array eigvals(const AnyMatrix& m);
TESSERA_API Array eigvals(AnyMatrix& m);

TESSERA_API linalg::Svd svd(const AnyMatrix& m, bool full_matrices = true);
TESSERA_API Array svdvals(const AnyMatrix& m);
TESSERA_API AnyMatrix pinv(const AnyMatrix& m, double rtol = -1);
TESSERA_API Array matrix_rank(const AnyMatrix& m, double rtol = -1);
TESSERA_API linalg::Lstsq lstsq(const AnyMatrix& m, const Array& b, double rcond = -1);
// Rank 0, as the condition; frobenius_norm (reductions.hpp) gives a number.
TESSERA_API Array norm(const AnyMatrix& m, linalg::NormOrder order = {});
TESSERA_API Array cond(const AnyMatrix& m, linalg::NormOrder order = {});

}  // namespace tessera
