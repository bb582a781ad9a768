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
  const double one[] = {1, 0}, zero[] = {0, 0};
  const float one_f[] = {1, 0}, zero_f[] = {0, 0};
  const auto row = [&](i64 n, DType dtype, const char* peer, auto&& gemm) {
    const Array a = Random(3).normal({n, n}, dtype), b = Random(4).normal({n, n}, dtype),
                c = zeros({n, n}, dtype);
    compare(
        cat("matmul ", n, "^2 ", name(dtype)), peer, 0.97, [&] { matmul(a, b, c); },
        [&] { gemm(static_cast<int>(n), a.data(), b.data(), c.data()); });
  };
  constexpr auto rows = CblasRowMajor;
  constexpr auto plain = CblasNoTrans;
  row(1024, DType::f64, "cblas_dgemm", [&](int m, const void* a, const void* b, void* c) {
    cblas_dgemm(rows, plain, plain, m, m, m, 1, static_cast<const double*>(a), m,
                static_cast<const double*>(b), m, 0, static_cast<double*>(c), m);
  });
  row(1024, DType::c64, "cblas_cgemm", [&](int m, const void* a, const void* b, void* c) {
    cblas_cgemm(rows, plain, plain, m, m, m, one_f, a, m, b, m, zero_f, c, m);
  });
  row(768, DType::c128, "cblas_zgemm", [&](int m, const void* a, const void* b, void* c) {
    cblas_zgemm(rows, plain, plain, m, m, m, one, a, m, b, m, zero, c, m);
  });
}

}  // namespace tessera::bench
