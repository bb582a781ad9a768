// SPDX-License-Identifier: Apache-2.0
// Dense solves against LAPACK called directly, and what the way to a small one costs.
#include <lapacke.h>

#include <cstring>
#include <vector>

#include "ratio.hpp"
#include "tessera/matrix/products/compute_k.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {

void bench_linalg() {
  const i64 n = 1024;
  const Array a = Random(1).normal({n, n}, DType::f64), b = Random(2).normal({n}, DType::f64);
  const auto m = static_cast<lapack_int>(n);
  // LAPACK writes over both: it gets copies, as ours makes them. Its matrix is the transpose, which
  // costs the same.
  std::vector<double> matrix(static_cast<std::size_t>(n * n)), right(static_cast<std::size_t>(n));
  std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
  compare(
      "solve 1024^2 float64", "LAPACKE_dgesv", 0.95, [&] { linalg::solve(a, b); },
      [&] {
        std::memcpy(matrix.data(), a.data(), matrix.size() * sizeof(double));
        std::memcpy(right.data(), b.data(), right.size() * sizeof(double));
        LAPACKE_dgesv(LAPACK_COL_MAJOR, m, 1, matrix.data(), m, pivots.data(), right.data(), m);
      });
  const Array small = Random(3).normal({4, 4}, DType::f64),
              side = Random(4).normal({4}, DType::f64);
  within("solve 4x4 float64", 1e-6, [&] { linalg::solve(small, side); });
  const AnyMatrix matrix_of_few = AnyMatrix::dense(small);
  within("product of 4x4 matrices, the device chosen", 1e-6,
         [&] { matmul(matrix_of_few, matrix_of_few); });
  const Array links =
      linalg::triangle(ops::greater(Random(5).normal({4096, 4096}, DType::f32), 0.0), false, 1);
  const AnyMatrix c = AnyMatrix::triangular_bit(links);
  within(
      "compute_k 4096, half of the bits set", 4.67, [&] { compute_k(c, 2048); },
      "limit: the known peer, one column after another");
}

}  // namespace tessera::bench
