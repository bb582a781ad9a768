// SPDX-License-Identifier: Apache-2.0
// Matrix products against OpenBLAS called directly.
#include <cblas.h>

#include "ratio.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {

void bench_matmul() {
  for (i64 n : {i64{32}, i64{256}, i64{1024}}) {
    const Array a = Random(1).normal({n, n}, DType::f32), b = Random(2).normal({n, n}, DType::f32),
                c = zeros({n, n}, DType::f32);
    const float *pa = a.host<float>(), *pb = b.host<float>();
    float* pc = c.host<float>();
    const int m = static_cast<int>(n);
    compare(
        cat("matmul ", n, "^2 float32"), "cblas_sgemm", n >= 256 ? 0.97 : 0,
        [&] { matmul(a, b, c); },
        [&] {
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, pa, m, pb, m, 0, pc,
                      m);
        });
  }
  const i64 n = 768;
  const Array a = Random(3).normal({n, n}, DType::c128), b = Random(4).normal({n, n}, DType::c128),
              c = zeros({n, n}, DType::c128);
  const double one[] = {1, 0}, zero[] = {0, 0};
  const int m = static_cast<int>(n);
  compare(
      "matmul 768^2 complex128", "cblas_zgemm", 0.97, [&] { matmul(a, b, c); },
      [&] {
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, one, a.data(), m, b.data(),
                    m, zero, c.data(), m);
      });
}

}  // namespace tessera::bench
