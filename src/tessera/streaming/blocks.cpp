// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/blocks.hpp"

#include "tessera/base/dtype.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/matmul/blas.hpp"

namespace tessera::streaming {
namespace {

template <class T>
T number(c128 v) {
  if constexpr (is_complex_v<T>)
    return T(v);
  else
    return static_cast<T>(v.re);
}

}  // namespace

void require_blas(std::string_view who, DType dtype) {
  require<DTypeError>(dtype == DType::f32 || dtype == DType::f64 || is_complex(dtype), who,
                      ": takes float32, float64, complex64 and complex128, got ", name(dtype));
}

void gemm(DType dtype, i64 m, i64 n, i64 k, c128 alpha, const Block& a, const Block& b, c128 beta,
          void* c, i64 ldc) {
  if (m == 0 || n == 0) return;
  limit_library_threads();
  dispatch<float, double, c64, c128>(dtype, "matmul", [&]<class T>() {
    const auto matrix = [](const Block& x) {
      return blas::Matrix<T>{static_cast<const T*>(x.data), std::max<i64>(1, x.ld), x.turned,
                             x.conj && is_complex_v<T>};
    };
    blas::gemm<T>(m, n, k, number<T>(alpha), matrix(a), matrix(b), number<T>(beta),
                  static_cast<T*>(c), ldc);
  });
}

}  // namespace tessera::streaming
