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
#include <type_traits>
#include <vector>

namespace tessera::lapack {

using Int = lapack_int;
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

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
Int getrs(Int n, Int columns, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  TESSERA_LAPACK_REAL(T, sgetrs, dgetrs, 'N', n, columns, a, lda, pivots, b, ldb);
  TESSERA_LAPACK_COMPLEX(T, cgetrs, zgetrs, 'N', n, columns, a, lda, pivots, b, ldb);
}
template <class T>
Int potrf(Int n, T* a, Int lda) {  // the lower triangle
  TESSERA_LAPACK_REAL(T, spotrf, dpotrf, 'L', n, a, lda);
  TESSERA_LAPACK_COMPLEX(T, cpotrf, zpotrf, 'L', n, a, lda);
}

// The size that LAPACK wants for its work, from a first call with room for the answer.
template <class T, class F>
std::vector<T> work_for(F&& call) {
  T answer{};
  call(&answer, Int{-1});
  return std::vector<T>(static_cast<std::size_t>(std::max<double>(1, std::real(answer))));
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

// Values in ascending order; the vectors take the place of a, whose lower triangle counts.
template <class T>
Int heevd(Int n, T* a, Int lda, Real<T>* values) {
  T size{};
  Real<T> real_size{};
  Int int_size = 0;
  std::vector<T> work;
  std::vector<Real<T>> real;
  std::vector<Int> ints;
  auto call = [&](T* w, Int lw, Real<T>* r, Int lr, Int* i, Int li) -> Int {
    (void)r, (void)lr;
    TESSERA_LAPACK_REAL(T, ssyevd, dsyevd, 'V', 'L', n, a, lda, values, w, lw, i, li);
    TESSERA_LAPACK_COMPLEX(T, cheevd, zheevd, 'V', 'L', n, a, lda, values, w, lw, r, lr, i, li);
  };
  if (const Int info = call(&size, -1, &real_size, -1, &int_size, -1)) return info;
  work.resize(static_cast<std::size_t>(std::max<double>(1, std::real(size))));
  real.resize(static_cast<std::size_t>(std::max<double>(1, real_size)));
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

// Least squares by singular values: the first n rows of b become x. Those below rcond times the
// largest count as zero; `rank` is the number of the others.
template <class T>
Int gelsd(Int m, Int n, Int columns, T* a, Int lda, T* b, Int ldb, Real<T>* values, Real<T> rcond,
          Int* rank) {
  T size{};
  Real<T> real_size{};
  Int int_size = 0;
  auto call = [&](T* w, Int lw, Real<T>* r, Int* i) -> Int {
    (void)r;
    TESSERA_LAPACK_REAL(T, sgelsd, dgelsd, m, n, columns, a, lda, b, ldb, values, rcond, rank, w,
                        lw, i);
    TESSERA_LAPACK_COMPLEX(T, cgelsd, zgelsd, m, n, columns, a, lda, b, ldb, values, rcond, rank, w,
                           lw, r, i);
  };
  if (const Int info = call(&size, -1, &real_size, &int_size)) return info;
  std::vector<T> work(static_cast<std::size_t>(std::max<double>(1, std::real(size))));
  std::vector<Real<T>> real(static_cast<std::size_t>(std::max<double>(1, real_size)));
  std::vector<Int> ints(static_cast<std::size_t>(std::max<Int>(1, int_size)));
  return call(work.data(), static_cast<Int>(work.size()), real.data(), ints.data());
}

#undef TESSERA_LAPACK_REAL
#undef TESSERA_LAPACK_COMPLEX

}  // namespace tessera::lapack
