// SPDX-License-Identifier: Apache-2.0
// cgemv and zgemv of OpenBLAS 0.3.21 read one element behind x when they leave rows over (m % 4 == 2). PBLAS hands
// them buffers of just the length, which under AddressSanitizer can end where mapped memory does. In programs under
// that sanitizer these stand in front of OpenBLAS's: the same product, of a copy of x with room behind it.
#include <cblas.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <vector>

namespace {

template <class T>
std::vector<T> padded(char trans, int m, int n, const T* x, int step) {
  const int length = trans == 'N' || trans == 'n' ? n : m;
  std::vector<T> copy(static_cast<std::size_t>(std::max(0, length)) + 8);
  for (int k = 0; k < length; ++k)
    copy[static_cast<std::size_t>(k)] =
        x[static_cast<std::ptrdiff_t>(step > 0 ? k : k - length + 1) * step];
  return copy;
}

CBLAS_TRANSPOSE turned(char trans) {
  if (trans == 'N' || trans == 'n') return CblasNoTrans;
  return trans == 'T' || trans == 't' ? CblasTrans : CblasConjTrans;
}

}  // namespace

#define TESSERA_PADDED_GEMV(name, T, product)                                                    \
  extern "C" __attribute__((visibility("default"))) void name(                                   \
      const char* trans, const int* m, const int* n, const T* alpha, const T* a, const int* lda, \
      const T* x, const int* incx, const T* beta, T* y, const int* incy) {                       \
    const std::vector<T> copy = padded(*trans, *m, *n, x, *incx);                                \
    product(CblasColMajor, turned(*trans), *m, *n, alpha, a, *lda, copy.data(), 1, beta, y,      \
            *incy);                                                                              \
  }
TESSERA_PADDED_GEMV(cgemv_, std::complex<float>, cblas_cgemv)
TESSERA_PADDED_GEMV(zgemv_, std::complex<double>, cblas_zgemv)
