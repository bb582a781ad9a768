// SPDX-License-Identifier: Apache-2.0
#pragma once
// OpenBLAS by type instead of by letter, in the row-major convention, with conjugation without
// transposition (OpenBLAS's own extension) and with vectors that may run backwards. Sizes must fit
// in 32 bits: callers cut larger problems. Private to the library.
//   blas::gemm<float>(m, n, k, alpha, {a, lda, blas::plain}, {b, ldb, blas::turned}, beta, c, ldc);

#include <cblas.h>

#include <string>
#include <string_view>

#include "tessera/base/scalar.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera::blas {

inline constexpr i64 max_size = i64{1} << 30;  // block limit: OpenBLAS counts in 32 bits
inline constexpr i64 max_step = 0x7fffffff;

// A matrix operand: row-major when `turned` is false, column-major otherwise.
template <class T>
struct Matrix {
  const T* data;
  i64 ld;
  bool turned;
  bool conj;
};

inline CBLAS_TRANSPOSE code(bool turned, bool conj) {
  if (turned) return conj ? CblasConjTrans : CblasTrans;
  return conj ? CblasConjNoTrans : CblasNoTrans;
}

template <class T>
void gemm(i64 m, i64 n, i64 k, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c,
          i64 ldc) {
  const CBLAS_TRANSPOSE ta = code(a.turned, a.conj), tb = code(b.turned, b.conj);
  const int M = static_cast<int>(m), N = static_cast<int>(n), K = static_cast<int>(k);
  const int la = static_cast<int>(a.ld), lb = static_cast<int>(b.ld), lc = static_cast<int>(ldc);
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasRowMajor, ta, tb, M, N, K, alpha, a.data, la, b.data, lb, beta, c, lc);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(CblasRowMajor, ta, tb, M, N, K, alpha, a.data, la, b.data, lb, beta, c, lc);
  else if constexpr (std::is_same_v<T, c64>)
    cblas_cgemm(CblasRowMajor, ta, tb, M, N, K, &alpha, a.data, la, b.data, lb, &beta, c, lc);
  else
    cblas_zgemm(CblasRowMajor, ta, tb, M, N, K, &alpha, a.data, la, b.data, lb, &beta, c, lc);
}

// The triangle below the diagonal of c = alpha * op(a) op(a)^T + c; a has m rows and k columns. Adds
// only, as gemv below.
template <class T>
void syrk(i64 m, i64 k, T alpha, const Matrix<T>& a, T* c, i64 ldc) {
  const CBLAS_TRANSPOSE ta = code(a.turned, false);
  const int M = static_cast<int>(m), K = static_cast<int>(k);
  const int la = static_cast<int>(a.ld), lc = static_cast<int>(ldc);
  if constexpr (std::is_same_v<T, float>)
    cblas_ssyrk(CblasRowMajor, CblasLower, ta, M, K, alpha, a.data, la, 1, c, lc);
  else
    cblas_dsyrk(CblasRowMajor, CblasLower, ta, M, K, alpha, a.data, la, 1, c, lc);
}

// BLAS wants the lowest address of a vector that runs backwards.
template <class T>
T* lowest(T* p, i64 n, i64 step) {
  return step < 0 ? p + (n - 1) * step : p;
}

// y = alpha * op(a) x + y; a has m rows and k columns. Adds only: scaling an uninitialised y by
// zero is not safe in every OpenBLAS.
template <class T>
void gemv(i64 m, i64 k, T alpha, const Matrix<T>& a, const T* x, i64 x_step, T* y, i64 y_step) {
  const CBLAS_TRANSPOSE ta = code(a.turned, a.conj);
  const int M = static_cast<int>(a.turned ? k : m), K = static_cast<int>(a.turned ? m : k);
  const int la = static_cast<int>(a.ld), sx = static_cast<int>(x_step),
            sy = static_cast<int>(y_step);
  const T* px = lowest(x, k, x_step);
  T* py = lowest(y, m, y_step);
  const T one(1);
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemv(CblasRowMajor, ta, M, K, alpha, a.data, la, px, sx, one, py, sy);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dgemv(CblasRowMajor, ta, M, K, alpha, a.data, la, px, sx, one, py, sy);
  else if constexpr (std::is_same_v<T, c64>)
    cblas_cgemv(CblasRowMajor, ta, M, K, &alpha, a.data, la, px, sx, &one, py, sy);
  else
    cblas_zgemv(CblasRowMajor, ta, M, K, &alpha, a.data, la, px, sx, &one, py, sy);
}

// sum of x[i] * y[i], each conjugated where flagged.
template <class T>
T dot(i64 n, const T* x, i64 x_step, bool conj_x, const T* y, i64 y_step, bool conj_y) {
  const int N = static_cast<int>(n), sx = static_cast<int>(x_step), sy = static_cast<int>(y_step);
  x = lowest(x, n, x_step);
  y = lowest(y, n, y_step);
  if constexpr (std::is_same_v<T, float>) {
    return cblas_sdot(N, x, sx, y, sy);
  } else if constexpr (std::is_same_v<T, double>) {
    return cblas_ddot(N, x, sx, y, sy);
  } else {
    T r;
    const bool swap = conj_y && !conj_x;  // the conjugated vector goes first
    const T *u = swap ? y : x, *v = swap ? x : y;
    const int su = swap ? sy : sx, sv = swap ? sx : sy;
    if constexpr (std::is_same_v<T, c64>) {
      conj_x != conj_y ? cblas_cdotc_sub(N, u, su, v, sv, &r)
                       : cblas_cdotu_sub(N, u, su, v, sv, &r);
    } else {
      conj_x != conj_y ? cblas_zdotc_sub(N, u, su, v, sv, &r)
                       : cblas_zdotu_sub(N, u, su, v, sv, &r);
    }
    return conj_x && conj_y ? conj(r) : r;
  }
}

#if defined(__x86_64__)
// The variable that says which kernels OpenBLAS takes, and its name of those that it should take
// where it has chosen others: "" where they do.
inline constexpr const char* core_variable = "OPENBLAS_CORETYPE";
TESSERA_API std::string better_core(std::string_view chosen, Instructions host);
#endif

// While one lives, OpenBLAS works on the calling thread alone: for callers that are themselves
// spread over the threads of the cpu device. Nests and overlaps between threads; another product
// running meanwhile is slower, never wrong.
class SingleThread {
 public:
  SingleThread();
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;
};

}  // namespace tessera::blas
