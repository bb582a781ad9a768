// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/blocks.hpp"

#include <cmath>

#include "tessera/base/dtype.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/linalg/lapack.hpp"
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

// The same number for LAPACK.
template <class T>
struct LapackNumber {
  using type = T;
};
template <class R>
struct LapackNumber<Complex<R>> {
  using type = std::complex<R>;
};

i64 answer_of(lapack::Int info) {
  require<BackendError>(info >= 0, "linalg: LAPACK refuses its argument ", i64{-info});
  return info;
}

void solve_triangle(DType dtype, CBLAS_SIDE side, i64 rows, i64 columns, const Triangle& t, void* b,
                    i64 ldb) {
  if (rows == 0 || columns == 0) return;
  limit_library_threads();
  const CBLAS_UPLO triangle = t.lower ? CblasLower : CblasUpper;
  const CBLAS_DIAG diagonal = t.unit ? CblasUnit : CblasNonUnit;
  const CBLAS_TRANSPOSE turn = t.turn == Turn::none         ? CblasNoTrans
                               : t.turn == Turn::transposed ? CblasTrans
                                                            : CblasConjTrans;
  const int m = static_cast<int>(rows), n = static_cast<int>(columns), lt = static_cast<int>(t.ld),
            lb = static_cast<int>(ldb);
  dispatch<float, double, c64, c128>(dtype, "solve_triangular", [&]<class T>() {
    const T one(1);
    const auto* a = static_cast<const T*>(t.data);
    auto* x = static_cast<T*>(b);
    if constexpr (std::is_same_v<T, float>)
      cblas_strsm(CblasRowMajor, side, triangle, turn, diagonal, m, n, one, a, lt, x, lb);
    else if constexpr (std::is_same_v<T, double>)
      cblas_dtrsm(CblasRowMajor, side, triangle, turn, diagonal, m, n, one, a, lt, x, lb);
    else if constexpr (std::is_same_v<T, c64>)
      cblas_ctrsm(CblasRowMajor, side, triangle, turn, diagonal, m, n, &one, a, lt, x, lb);
    else
      cblas_ztrsm(CblasRowMajor, side, triangle, turn, diagonal, m, n, &one, a, lt, x, lb);
  });
}

template <class T>
bool has_nan(const T* a, i64 rows, i64 columns, i64 ld) {
  for (i64 r = 0; r < rows; ++r)
    if (std::any_of(a + r * ld, a + r * ld + columns, [](const T& x) { return x != x; }))
      return true;
  return false;
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

void herk_lower(DType dtype, i64 n, i64 k, const void* a, i64 lda, void* c, i64 ldc) {
  if (n == 0 || k == 0) return;
  limit_library_threads();
  const int N = static_cast<int>(n), K = static_cast<int>(k), la = static_cast<int>(lda),
            lc = static_cast<int>(ldc);
  if (dtype == DType::f32)
    cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, N, K, -1, static_cast<const float*>(a), la,
                1, static_cast<float*>(c), lc);
  else if (dtype == DType::f64)
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, N, K, -1, static_cast<const double*>(a),
                la, 1, static_cast<double*>(c), lc);
  else if (dtype == DType::c64)
    cblas_cherk(CblasRowMajor, CblasLower, CblasNoTrans, N, K, -1, a, la, 1, c, lc);
  else
    cblas_zherk(CblasRowMajor, CblasLower, CblasNoTrans, N, K, -1, a, la, 1, c, lc);
}

void solve_left(DType dtype, i64 rows, i64 columns, const Triangle& t, void* b, i64 ldb) {
  solve_triangle(dtype, CblasLeft, rows, columns, t, b, ldb);
}
void solve_right(DType dtype, i64 rows, i64 columns, const Triangle& t, void* b, i64 ldb) {
  solve_triangle(dtype, CblasRight, rows, columns, t, b, ldb);
}

i64 cholesky_block(DType dtype, i64 n, void* a, i64 ld) {
  limit_library_threads();
  i64 info = 0;
  dispatch<float, double, c64, c128>(dtype, "cholesky", [&]<class T>() {
    using L = typename LapackNumber<T>::type;
    // The lower triangle by rows is the upper one by columns, of the transpose.
    info = answer_of(lapack::potrf<L>('U', static_cast<lapack::Int>(n), static_cast<L*>(a),
                                      static_cast<lapack::Int>(ld)));
    for (i64 r = 0; r < n; ++r) std::fill_n(static_cast<T*>(a) + r * ld + r + 1, n - r - 1, T(0));
  });
  return info;
}

i64 lu_block(DType dtype, i64 rows, i64 columns, void* a, i64 ld, std::int32_t* pivots) {
  static_assert(sizeof(lapack::Int) == sizeof(std::int32_t));
  limit_library_threads();
  i64 info = 0;
  dispatch<float, double, c64, c128>(dtype, "lu", [&]<class T>() {
    using L = typename LapackNumber<T>::type;
    auto* numbers = static_cast<L*>(a);
    info = answer_of(lapack::getrf<L>(static_cast<lapack::Int>(columns),
                                      static_cast<lapack::Int>(rows), numbers,
                                      static_cast<lapack::Int>(ld), pivots));
    // Some LAPACKs call a matrix that holds a NaN singular: then the pivot is one, as the answers
    // are.
    if (info == 0 || !has_nan(numbers, rows, columns, ld)) return;
    numbers[(info - 1) * (ld + 1)] = L(std::numeric_limits<lapack::Real<L>>::quiet_NaN());
    info = 0;
  });
  return info;
}

void exchange_columns(DType dtype, i64 rows, void* a, i64 ld, i64 count,
                      const std::int32_t* pivots) {
  dispatch<float, double, c64, c128>(dtype, "lu", [&]<class T>() {
    parallel_for(rows, 8, [&](i64 begin, i64 end) {
      for (i64 r = begin; r < end; ++r) {
        T* row = static_cast<T*>(a) + r * ld;
        for (i64 i = 0; i < count; ++i) std::swap(row[i], row[pivots[i] - 1]);
      }
    });
  });
}

void exchange_rows_back(DType dtype, i64 columns, void* a, i64 ld, i64 count,
                        const std::int32_t* pivots) {
  dispatch<float, double, c64, c128>(dtype, "lu", [&]<class T>() {
    T* x = static_cast<T*>(a);
    for (i64 i = count - 1; i >= 0; --i)
      if (const i64 other = pivots[i] - 1; other != i)
        std::swap_ranges(x + i * ld, x + i * ld + columns, x + other * ld);
  });
}

}  // namespace tessera::streaming
