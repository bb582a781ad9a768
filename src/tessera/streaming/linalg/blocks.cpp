// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/blocks.hpp"

#include <atomic>
#include <cmath>
#include <cstring>

#include "tessera/base/dtype.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/linalg/lapack.hpp"
#include "tessera/kernels/matmul/blas.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

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

std::atomic<double> asked_operations{0};
constexpr i64 most_terms = 4096;  // of a product at a time
constexpr double of_a_thread = 1.5e9;

// Operations of a part, of real or complex numbers; parts are large enough to cost nothing.
double operations_of(DType dtype) {
  const double asked = asked_operations.load(std::memory_order_relaxed);
  const double all = asked > 0 ? asked : of_a_thread * static_cast<double>(num_threads());
  return is_complex(dtype) ? all / 4 : all;
}
bool takes_long(DType dtype, double operations) { return operations > operations_of(dtype); }

// How many of n at a time, where each takes so many operations.
i64 at_a_time(DType dtype, i64 n, double each) {
  return std::clamp<i64>(static_cast<i64>(operations_of(dtype) / std::max(each, 1.0)), 1,
                         std::max<i64>(1, n));
}

const void* moved(const void* data, i64 elements, DType dtype) {
  return static_cast<const std::byte*>(data) + elements * size_of(dtype);
}
void* moved(void* data, i64 elements, DType dtype) {
  return static_cast<std::byte*>(data) + elements * size_of(dtype);
}
Block part_of(const Block& x, i64 row, i64 column, DType dtype) {
  Block out = x;
  out.data = moved(x.data, x.turned ? column * x.ld + row : row * x.ld + column, dtype);
  return out;
}

template <class T>
bool has_nan(const T* a, i64 rows, i64 columns, i64 ld) {
  for (i64 r = 0; r < rows; ++r)
    if (std::any_of(a + r * ld, a + r * ld + columns, [](const T& x) { return x != x; }))
      return true;
  return false;
}

void gemm_now(DType dtype, i64 m, i64 n, i64 k, c128 alpha, const Block& a, const Block& b,
              c128 beta, void* c, i64 ldc) {
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

}  // namespace

void require_blas(std::string_view who, DType dtype) {
  require<DTypeError>(dtype == DType::f32 || dtype == DType::f64 || is_complex(dtype), who,
                      ": takes float32, float64, complex64 and complex128, got ", name(dtype));
}

void set_operations_at_a_time(double operations) { asked_operations = operations; }

// In parts that are as square as the result allows, so that packing them costs nothing.
void gemm(DType dtype, i64 m, i64 n, i64 k, c128 alpha, const Block& a, const Block& b, c128 beta,
          void* c, i64 ldc) {
  if (m == 0 || n == 0) return;
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n);
  if (!takes_long(dtype, operations * static_cast<double>(k)))
    return gemm_now(dtype, m, n, k, alpha, a, b, beta, c, ldc);
  const i64 depth = std::min(k, most_terms);
  const double each = 2.0 * static_cast<double>(depth);
  const i64 side = std::max<i64>(1, static_cast<i64>(std::sqrt(operations_of(dtype) / each)));
  i64 rows = std::min(m, side);
  const i64 columns = at_a_time(dtype, n, each * static_cast<double>(rows));
  rows = at_a_time(dtype, m, each * static_cast<double>(columns));
  for (i64 t = 0; t < k; t += depth)
    for (i64 r = 0; r < m; r += rows)
      for (i64 j = 0; j < n; j += columns) {
        poll_stream();
        gemm_now(dtype, std::min(rows, m - r), std::min(columns, n - j), std::min(depth, k - t),
                 alpha, part_of(a, r, t, dtype), part_of(b, t, j, dtype),
                 t == 0 ? beta : c128{1, 0}, moved(c, r * ldc + j, dtype), ldc);
      }
}

void herk_lower(DType dtype, i64 n, i64 k, const void* a, i64 lda, void* c, i64 ldc) {
  if (n == 0 || k == 0) return;
  const double long_row = static_cast<double>(n) * static_cast<double>(k);
  if (n > 1 && takes_long(dtype, static_cast<double>(n) * long_row)) {  // in halves of its rows
    const i64 half = n / 2;
    const void* below = moved(a, half * lda, dtype);
    herk_lower(dtype, half, k, a, lda, c, ldc);
    poll_stream();
    gemm(dtype, n - half, half, k, {-1, 0}, {below, lda}, {a, lda, true, true}, {1, 0},
         moved(c, half * ldc, dtype), ldc);
    return herk_lower(dtype, n - half, k, below, lda, moved(c, half * (ldc + 1), dtype), ldc);
  }
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
  const i64 by = at_a_time(dtype, columns, static_cast<double>(rows) * static_cast<double>(rows));
  for (i64 j = 0; j < columns; j += by) {
    if (by < columns) poll_stream();
    solve_triangle(dtype, CblasLeft, rows, std::min(by, columns - j), t, moved(b, j, dtype), ldb);
  }
}
void solve_right(DType dtype, i64 rows, i64 columns, const Triangle& t, void* b, i64 ldb) {
  const i64 by =
      at_a_time(dtype, rows, static_cast<double>(columns) * static_cast<double>(columns));
  for (i64 r = 0; r < rows; r += by) {
    if (by < rows) poll_stream();
    solve_triangle(dtype, CblasRight, std::min(by, rows - r), columns, t, moved(b, r * ldb, dtype),
                   ldb);
  }
}

i64 cholesky_block(DType dtype, i64 n, void* a, i64 ld) {
  const double size = static_cast<double>(n);
  if (n > 1 && takes_long(dtype, size * size * size / 3)) {
    const i64 half = n / 2, rest = n - half;
    if (const i64 minor = cholesky_block(dtype, half, a, ld); minor != 0) return minor;
    poll_stream();
    void *below = moved(a, half * ld, dtype), *last = moved(a, half * (ld + 1), dtype);
    solve_right(dtype, rest, half, {a, ld, true, false, Turn::adjoint}, below, ld);
    herk_lower(dtype, rest, half, below, ld, last, ld);
    for (i64 r = 0; r < half; ++r)
      std::memset(moved(a, r * ld + half, dtype), 0,
                  static_cast<std::size_t>(rest * size_of(dtype)));
    const i64 minor = cholesky_block(dtype, rest, last, ld);
    return minor == 0 ? 0 : half + minor;
  }
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
  if (const double size = static_cast<double>(rows);
      rows > 1 && takes_long(dtype, size * size * static_cast<double>(columns))) {
    const i64 half = rows / 2, rest = rows - half;
    if (const i64 zero = lu_block(dtype, half, columns, a, ld, pivots); zero != 0) return zero;
    poll_stream();
    void *below = moved(a, half * ld, dtype), *last = moved(a, half * (ld + 1), dtype);
    exchange_columns(dtype, rest, below, ld, half, pivots);
    solve_right(dtype, rest, half, {a, ld, false, true}, below, ld);
    gemm(dtype, rest, columns - half, half, {-1, 0}, {below, ld}, {moved(a, half, dtype), ld},
         {1, 0}, last, ld);
    if (const i64 zero = lu_block(dtype, rest, columns - half, last, ld, pivots + half); zero != 0)
      return half + zero;
    exchange_columns(dtype, half, moved(a, half, dtype), ld, rest, pivots + half);
    for (i64 i = half; i < rows; ++i) pivots[i] += static_cast<std::int32_t>(half);
    return 0;
  }
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
