// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decompositions that only LAPACK has: Schur's form, L D Lᵀ of indefinite matrices, bands, pairs of
// matrices. For arrays of the cpu and of sim devices; errors and dtypes are those of linalg.hpp.
//   Schur s = linalg::schur(a);   Array x = linalg::solve_banded(1, 2, bands, b);

#include "tessera/kernels/linalg/linalg.hpp"

namespace tessera::linalg {

// a = z t zᴴ, t upper triangular; of a real matrix that stays real with blocks of two on its
// diagonal.
struct Schur {
  Array t, z;
};
TESSERA_API Schur schur(const Array& a, bool complex = false);

// a = l d lᵀ (lᴴ: Hermitian), l[order] a triangle with ones on its diagonal; one triangle is read.
struct Ldl {
  Array l, d, order;
};
TESSERA_API Ldl ldl(const Array& a, bool lower = true, bool hermitian = true);

// a x = b where bands[upper + i - j, j] = a[i, j]; b is a vector or a matrix.
TESSERA_API Array solve_banded(i64 lower, i64 upper, const Array& bands, const Array& b);
// A positive matrix by one triangle: bands[i - j, j] = a[i, j], or bands[u + i - j, j] (upper).
TESSERA_API Array solve_banded_positive(const Array& bands, const Array& b, bool lower);

// a v = w b v, by QZ: w = alpha / beta, infinite where b is singular. All complex.
struct EigPair {
  Array alpha, beta, vectors, left;
};
TESSERA_API EigPair eig_pair(const Array& a, const Array& b, bool left = false);

}  // namespace tessera::linalg
