// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/small_dense.hpp"

#define LAPACK_COMPLEX_CUSTOM
#include <complex>
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "tessera/base/error.hpp"

namespace tessera::small {

Eigen eigen_symmetric(i64 n, std::vector<double> a) {
  Eigen e;
  e.n = n;
  e.values.resize(static_cast<std::size_t>(n));
  const auto m = static_cast<lapack_int>(n);
  const lapack_int info =
      n == 0 ? 0 : LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', m, a.data(), m, e.values.data());
  require<BackendError>(info == 0, "LAPACK dsyev of a ", n, " x ", n, " matrix: info ", i64{info},
                        "; the numbers are not finite, or it did not converge");
  e.vectors = std::move(a);
  return e;
}

Svd svd(i64 n, std::vector<Number> a) {
  Svd s;
  s.n = n;
  s.values.resize(static_cast<std::size_t>(n));
  // What may be read behind the matrices: see Note [reading beyond the end] in cpu_device.cpp.
  const std::size_t size = a.size(), beyond = 4 * static_cast<std::size_t>(n + 1);
  a.resize(size + beyond);
  s.u.resize(size + beyond);
  s.vh.resize(size + beyond);
  std::vector<double> rest(static_cast<std::size_t>(std::max<i64>(n, 1)));
  const auto m = static_cast<lapack_int>(n);
  // By rows the matrix is its transpose by columns, of which the factors change places.
  const lapack_int info =
      n == 0 ? 0
             : LAPACKE_zgesvd(LAPACK_COL_MAJOR, 'A', 'A', m, m, a.data(), m, s.values.data(),
                              s.vh.data(), m, s.u.data(), m, rest.data());
  require<BackendError>(info == 0, "LAPACK zgesvd of a ", n, " x ", n, " matrix: info ", i64{info},
                        "; the numbers are not finite, or it did not converge");
  s.u.resize(size);
  s.vh.resize(size);
  return s;
}

std::vector<Number> solve_upper(i64 n, const Number* r, i64 stride, const Number* g) {
  std::vector<Number> y(static_cast<std::size_t>(n));
  for (i64 i = n - 1; i >= 0; --i) {
    Number sum = g[i];
    for (i64 j = i + 1; j < n; ++j) sum -= r[i * stride + j] * y[static_cast<std::size_t>(j)];
    const Number d = r[i * stride + i];
    y[static_cast<std::size_t>(i)] = d == Number(0) ? Number(0) : sum / d;
  }
  return y;
}

}  // namespace tessera::small
