// SPDX-License-Identifier: Apache-2.0
#pragma once
// The small dense problems inside solvers, on the host, in double precision, by LAPACK: a few
// hundred rows at most. Not for users: dense algebra of arrays is another layer.
//   Eigen e = eigen_symmetric(n, a);   e.values[i], e.vector(i, j)

#include <complex>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera::small {

using Number = std::complex<double>;

struct Eigen {
  i64 n = 0;
  std::vector<double> values;   // ascending
  std::vector<double> vectors;  // row-major, column i is the vector of values[i]
  double vector(i64 row, i64 column) const {
    return vectors[static_cast<std::size_t>(row * n + column)];
  }
};
// `a`: row-major n x n, its upper triangle counts. BackendError when LAPACK fails.
Eigen eigen_symmetric(i64 n, std::vector<double> a);

struct Svd {
  i64 n = 0;
  std::vector<double> values;  // descending
  std::vector<Number> u, vh;   // row-major n x n
};
Svd svd(i64 n, std::vector<Number> a);  // row-major n x n

// Solves R y = g with R upper triangular, row-major with `stride` numbers a row; a zero on the
// diagonal gives a zero in y.
std::vector<Number> solve_upper(i64 n, const Number* r, i64 stride, const Number* g);

}  // namespace tessera::small
