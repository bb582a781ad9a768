// SPDX-License-Identifier: Apache-2.0
#pragma once
// LAPACK by type instead of by letter: column-major matrices, work space asked for and taken here,
// the number that LAPACK answers (0: all is well) returned. No check for numbers that are not
// finite. Private to the library.
//   lapack_int info = lapack::getrf<double>(m, n, a, lda, pivots);

#include <complex>
#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/base/real_of.hpp"
#include "tessera/kernels/linalg/dense.hpp"

namespace tessera::lapack {

using Int = lapack_int;
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

inline char letter(Turn turn) {
  return turn == Turn::none ? 'N' : turn == Turn::transposed ? 'T' : 'C';
}

// LAPACKE's middle level by type: TESSERA_LAPACK(getrf)(m, ...) calls sgetrf to zgetrf.
#define TESSERA_LAPACK_REAL(T, s, d, ...)                     \
  if constexpr (std::is_same_v<T, float>)                     \
    return LAPACKE_##s##_work(LAPACK_COL_MAJOR, __VA_ARGS__); \
  else if constexpr (std::is_same_v<T, double>)               \
  return LAPACKE_##d##_work(LAPACK_COL_MAJOR, __VA_ARGS__)
#define TESSERA_LAPACK_COMPLEX(T, c, z, ...)                  \
  if constexpr (std::is_same_v<T, std::complex<float>>)       \
    return LAPACKE_##c##_work(LAPACK_COL_MAJOR, __VA_ARGS__); \
  else if constexpr (std::is_same_v<T, std::complex<double>>) \
  return LAPACKE_##z##_work(LAPACK_COL_MAJOR, __VA_ARGS__)

template <class T>
Int getrf(Int m, Int n, T* a, Int lda, Int* pivots) {
  TESSERA_LAPACK_REAL(T, sgetrf, dgetrf, m, n, a, lda, pivots);
  TESSERA_LAPACK_COMPLEX(T, cgetrf, zgetrf, m, n, a, lda, pivots);
}
template <class T>
Int getrs(char turn, Int n, Int columns, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  TESSERA_LAPACK_REAL(T, sgetrs, dgetrs, turn, n, columns, a, lda, pivots, b, ldb);
  TESSERA_LAPACK_COMPLEX(T, cgetrs, zgetrs, turn, n, columns, a, lda, pivots, b, ldb);
}
template <class T>
Int potrf(char triangle, Int n, T* a, Int lda) {
  TESSERA_LAPACK_REAL(T, spotrf, dpotrf, triangle, n, a, lda);
  TESSERA_LAPACK_COMPLEX(T, cpotrf, zpotrf, triangle, n, a, lda);
}
template <class T>
Int potrs(char triangle, Int n, Int columns, const T* a, Int lda, T* b, Int ldb) {
  TESSERA_LAPACK_REAL(T, spotrs, dpotrs, triangle, n, columns, a, lda, b, ldb);
  TESSERA_LAPACK_COMPLEX(T, cpotrs, zpotrs, triangle, n, columns, a, lda, b, ldb);
}
template <class T>
Int trtrs(char triangle, char turn, char diagonal, Int n, Int columns, const T* a, Int lda, T* b,
          Int ldb) {
  TESSERA_LAPACK_REAL(T, strtrs, dtrtrs, triangle, turn, diagonal, n, columns, a, lda, b, ldb);
  TESSERA_LAPACK_COMPLEX(T, ctrtrs, ztrtrs, triangle, turn, diagonal, n, columns, a, lda, b, ldb);
}

// A number of elements that LAPACK can count: its work space may need more than the matrix. A few
// more, since OpenBLAS reads a little behind matrices that lie there (device/readable_tail.hpp).
inline std::size_t room_for(double size) {
  constexpr double more = 16;
  require<BackendError>(size + more < static_cast<double>(std::numeric_limits<Int>::max()),
                        "linalg: LAPACK needs a work space of ", size,
                        " numbers, more than its 32-bit integers can count");
  return static_cast<std::size_t>(std::max<double>(1, size) + more);
}

// The size that LAPACK wants for its work, from a first call with room for the answer.
template <class T, class F>
std::vector<T> work_for(F&& call) {
  T answer{};
  call(&answer, Int{-1});
  return std::vector<T>(room_for(std::real(answer)));
}

template <class T>
Int getri(Int n, T* a, Int lda, const Int* pivots) {
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sgetri, dgetri, n, a, lda, pivots, work, size);
    TESSERA_LAPACK_COMPLEX(T, cgetri, zgetri, n, a, lda, pivots, work, size);
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}
template <class T>
Int geqrf(Int m, Int n, T* a, Int lda, T* tau) {
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sgeqrf, dgeqrf, m, n, a, lda, tau, work, size);
    TESSERA_LAPACK_COMPLEX(T, cgeqrf, zgeqrf, m, n, a, lda, tau, work, size);
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}
// With exchanges of columns: order[j] from 1 is the column that came to place j; zeros go in.
template <class T>
Int geqp3(Int m, Int n, T* a, Int lda, Int* order, T* tau) {
  std::vector<Real<T>> real(is_complex<T> ? 2 * static_cast<std::size_t>(n) + 1 : 0);
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sgeqp3, dgeqp3, m, n, a, lda, order, tau, work, size);
    TESSERA_LAPACK_COMPLEX(T, cgeqp3, zgeqp3, m, n, a, lda, order, tau, work, size, real.data());
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}
// The first n columns of Q, from k reflections.
template <class T>
Int orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau) {
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sorgqr, dorgqr, m, n, k, a, lda, tau, work, size);
    TESSERA_LAPACK_COMPLEX(T, cungqr, zungqr, m, n, k, a, lda, tau, work, size);
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}

// Values in ascending order; the vectors (job 'V') take the place of a.
template <class T>
Int heevd(char job, char triangle, Int n, T* a, Int lda, Real<T>* values) {
  T size{};
  Real<T> real_size{};
  Int int_size = 0;
  std::vector<T> work;
  std::vector<Real<T>> real;
  std::vector<Int> ints;
  auto call = [&](T* w, Int lw, Real<T>* r, Int lr, Int* i, Int li) -> Int {
    (void)r, (void)lr;
    TESSERA_LAPACK_REAL(T, ssyevd, dsyevd, job, triangle, n, a, lda, values, w, lw, i, li);
    TESSERA_LAPACK_COMPLEX(T, cheevd, zheevd, job, triangle, n, a, lda, values, w, lw, r, lr, i,
                           li);
  };
  if (const Int info = call(&size, -1, &real_size, -1, &int_size, -1)) return info;
  work.resize(room_for(std::real(size)));
  real.resize(room_for(real_size));
  ints.resize(static_cast<std::size_t>(std::max<Int>(1, int_size)));
  return call(work.data(), static_cast<Int>(work.size()), real.data(),
              static_cast<Int>(real.size()), ints.data(), static_cast<Int>(ints.size()));
}

// Values in descending order. job 'A': all of u and vh, 'S': the first min(m, n).
template <class T>
Int gesdd(char job, Int m, Int n, T* a, Int lda, Real<T>* values, T* u, Int ldu, T* vh, Int ldvh) {
  const auto few = static_cast<std::size_t>(std::min(m, n)),
             many = static_cast<std::size_t>(std::max(m, n));
  std::vector<Int> ints(8 * few + 1);
  std::vector<Real<T>> real(is_complex<T> ? few * std::max(5 * few + 7, 2 * many + 2 * few + 1) + 1
                                          : 0);
  auto call = [&](T* w, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sgesdd, dgesdd, job, m, n, a, lda, values, u, ldu, vh, ldvh, w, size,
                        ints.data());
    TESSERA_LAPACK_COMPLEX(T, cgesdd, zgesdd, job, m, n, a, lda, values, u, ldu, vh, ldvh, w, size,
                           real.data(), ints.data());
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}

// Eigenvalues of a general matrix and its vectors ('V': wanted).
template <class T>
Int geev_complex(char left, char right, Int n, T* a, Int lda, T* values, T* vl, T* vr) {
  std::vector<Real<T>> real(2 * static_cast<std::size_t>(n) + 1);
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_COMPLEX(T, cgeev, zgeev, left, right, n, a, lda, values, vl, lda, vr, lda, work,
                           size, real.data());
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}
template <class T>
Int geev_real(char left, char right, Int n, T* a, Int lda, T* re, T* im, T* vl, T* vr) {
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sgeev, dgeev, left, right, n, a, lda, re, im, vl, lda, vr, lda, work,
                        size);
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}

// Schur's form: t takes the place of a, z its vectors.
template <class T>
Int gees(Int n, T* a, Int lda, T* z) {
  const auto many = static_cast<std::size_t>(n);
  std::vector<Real<T>> real(many), imaginary(many);
  std::vector<T> values(many);
  Int sorted = 0;
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sgees, dgees, 'V', 'N', nullptr, n, a, lda, &sorted, real.data(),
                        imaginary.data(), z, lda, work, size, nullptr);
    TESSERA_LAPACK_COMPLEX(T, cgees, zgees, 'V', 'N', nullptr, n, a, lda, &sorted, values.data(), z,
                           lda, work, size, real.data(), nullptr);
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}

// a = L D Lᵀ, or L D Lᴴ (Hermitian), with blocks of one and two on D's diagonal.
template <class T>
Int hetrf(bool hermitian, char triangle, Int n, T* a, Int lda, Int* pivots) {
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, ssytrf, dsytrf, triangle, n, a, lda, pivots, work, size);
    if (hermitian) {
      TESSERA_LAPACK_COMPLEX(T, chetrf, zhetrf, triangle, n, a, lda, pivots, work, size);
    } else {
      TESSERA_LAPACK_COMPLEX(T, csytrf, zsytrf, triangle, n, a, lda, pivots, work, size);
    }
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}

// Bands: `ab` has room for the diagonals that exchanges of rows fill, 2 lower + upper + 1 rows.
template <class T>
Int gbsv(Int n, Int lower, Int upper, Int columns, T* ab, Int ldab, Int* pivots, T* b, Int ldb) {
  TESSERA_LAPACK_REAL(T, sgbsv, dgbsv, n, lower, upper, columns, ab, ldab, pivots, b, ldb);
  TESSERA_LAPACK_COMPLEX(T, cgbsv, zgbsv, n, lower, upper, columns, ab, ldab, pivots, b, ldb);
}
template <class T>
Int pbsv(char triangle, Int n, Int bands, Int columns, T* ab, Int ldab, T* b, Int ldb) {
  TESSERA_LAPACK_REAL(T, spbsv, dpbsv, triangle, n, bands, columns, ab, ldab, b, ldb);
  TESSERA_LAPACK_COMPLEX(T, cpbsv, zpbsv, triangle, n, bands, columns, ab, ldab, b, ldb);
}

// a v beta = b v alpha, by QZ.
template <class T>
Int ggev_complex(char left, char right, Int n, T* a, T* b, T* alpha, T* beta, T* vl, T* vr) {
  std::vector<Real<T>> real(8 * static_cast<std::size_t>(n) + 1);
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_COMPLEX(T, cggev, zggev, left, right, n, a, n, b, n, alpha, beta, vl, n, vr, n,
                           work, size, real.data());
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}
template <class T>
Int ggev_real(char left, char right, Int n, T* a, T* b, T* re, T* im, T* beta, T* vl, T* vr) {
  auto call = [&](T* work, Int size) -> Int {
    TESSERA_LAPACK_REAL(T, sggev, dggev, left, right, n, a, n, b, n, re, im, beta, vl, n, vr, n,
                        work, size);
  };
  std::vector<T> work = work_for<T>(call);
  return call(work.data(), static_cast<Int>(work.size()));
}

#undef TESSERA_LAPACK_REAL
#undef TESSERA_LAPACK_COMPLEX

}  // namespace tessera::lapack
