// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dense linear algebra on host memory, by LAPACK: what numpy.linalg calls by these names, with its
// shapes, dtypes and stacks of matrices along leading axes. Integers are taken as float64, short
// floats as float32. Arrays of other devices are computed on the host and sent back. A matrix that
// cannot be treated (singular, not positive definite) is an ArgumentError.
//   Array x = linalg::solve(a, b);   auto [q, r] = linalg::qr(a);   linalg::eigh(a).values

#include "tessera/array/array.hpp"

namespace tessera::linalg {

// float32, float64, complex64 or complex128: what these functions compute with.
TESSERA_API DType working_dtype(DType t);

// a x = b; b is one vector, or a stack of matrices.
TESSERA_API Array solve(const Array& a, const Array& b);
TESSERA_API Array inverse(const Array& a);
TESSERA_API Array cholesky(const Array& a);  // lower; only the lower triangle of a is read

struct Qr {
  Array q, r;
};
TESSERA_API Qr qr(const Array& a);  // reduced: (m, k) and (k, n), k = min(m, n)

struct Eigh {
  Array values, vectors;  // ascending; the columns are the vectors
};
TESSERA_API Eigh eigh(const Array& a);  // only the lower triangle of a is read

struct Svd {
  Array u, s, vh;  // s descending; a = (u * s) vh
};
TESSERA_API Svd svd(const Array& a, bool full_matrices = true);

TESSERA_API Array det(const Array& a);
struct SlogDet {
  Array sign, logabsdet;
};
TESSERA_API SlogDet slogdet(const Array& a);

struct Lstsq {
  Array x, residuals;  // residuals: empty where the rank is less than n, or m <= n
  i64 rank = 0;
  Array s;
};
// The x of least |b - a x|, and of those the shortest. Singular values below rcond times the
// largest count as zero; negative: the precision times max(m, n).
TESSERA_API Lstsq lstsq(const Array& a, const Array& b, double rcond = -1);

}  // namespace tessera::linalg
