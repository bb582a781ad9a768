// SPDX-License-Identifier: Apache-2.0
// QR, eigenvalues and singular values of one matrix in host memory.
#include "tessera/kernels/linalg/dense_cpu.hpp"

namespace tessera::dense {

template <class T>
void qr_one(const DenseSpec& s, const Launch& launch, i64 i) {
  const i64 m = s.m, n = s.n, k = std::min(m, n), rank = s.full ? m : k;
  T* a = part<T>(launch, 0, i, m * n);
  std::vector<T> tau(static_cast<std::size_t>(k));
  std::vector<Int> order(static_cast<std::size_t>(n), 0);
  const Int info = s.pivoted ? lapack::geqp3<T>(i32(m), i32(n), a, ld(m), order.data(), tau.data())
                             : lapack::geqrf<T>(i32(m), i32(n), a, ld(m), tau.data());
  *part<i64>(launch, 4, i, 1) = checked(info);
  if (s.pivoted) {
    i64* to = part<i64>(launch, 3, i, n);
    for (i64 j = 0; j < n; ++j) to[j] = order[static_cast<std::size_t>(j)] - 1;
  }
  T* r = part<T>(launch, 2, i, rank * n);
  for (i64 j = 0; j < n; ++j) std::copy_n(a + j * m, rank, r + j * rank);
  clear(r, rank, n, false);
  if (!s.vectors) return;
  T* q = part<T>(launch, 1, i, m * rank);
  std::copy_n(a, m * k, q);
  std::fill(q + m * k, q + m * rank, T(0));
  checked(lapack::orgqr<T>(i32(m), i32(rank), i32(k), q, ld(m), tau.data()));
}

template <class T>
void eigh_one(const DenseSpec& s, const Launch& launch, i64 i) {
  *part<i64>(launch, 2, i, 1) = checked(lapack::heevd<T>(
      s.vectors ? 'V' : 'N', s.lower ? 'L' : 'U', i32(s.n), part<T>(launch, 0, i, s.n * s.n),
      ld(s.n), part<lapack::Real<T>>(launch, 1, i, s.n)));
}

template <class T>
void eig_one(const DenseSpec& s, const Launch& launch, i64 i) {
  using R = lapack::Real<T>;
  using C = std::complex<R>;
  const i64 n = s.n, size = n * n;
  T* a = part<T>(launch, 0, i, size);
  C* values = part<C>(launch, 1, i, n);
  C *left = s.left ? part<C>(launch, 2, i, size) : nullptr,
    *right = s.vectors ? part<C>(launch, 3, i, size) : nullptr;
  const char want_left = s.left ? 'V' : 'N', want_right = s.vectors ? 'V' : 'N';
  Int info = 0;
  if constexpr (lapack::is_complex<T>) {
    info = lapack::geev_complex<T>(want_left, want_right, i32(n), a, ld(n), values, left, right);
  } else {
    std::vector<R> re(static_cast<std::size_t>(n)), im(re.size());
    std::vector<R> l(static_cast<std::size_t>(s.left ? size : 1)),
        r(static_cast<std::size_t>(s.vectors ? size : 1));
    info = lapack::geev_real<T>(want_left, want_right, i32(n), a, ld(n), re.data(), im.data(),
                                l.data(), r.data());
    for (i64 j = 0; j < n; ++j)
      values[j] = C(re[static_cast<std::size_t>(j)], im[static_cast<std::size_t>(j)]);
    if (info == 0 && s.left) unpack(n, im, l, left);
    if (info == 0 && s.vectors) unpack(n, im, r, right);
  }
  *part<i64>(launch, 4, i, 1) = checked(info);
}

template <class T>
void svd_one(const DenseSpec& s, const Launch& launch, i64 i) {
  const i64 m = s.m, n = s.n, k = std::min(m, n), mu = s.full ? m : k, nv = s.full ? n : k;
  T *u = s.vectors ? part<T>(launch, 1, i, m * mu) : nullptr,
    *vh = s.vectors ? part<T>(launch, 3, i, nv * n) : nullptr;
  const char job = !s.vectors ? 'N' : s.full ? 'A' : 'S';
  const Int answer = lapack::gesdd<T>(job, i32(m), i32(n), part<T>(launch, 0, i, m * n), ld(m),
                                      part<lapack::Real<T>>(launch, 2, i, k), u, ld(m), vh, ld(nv));
  // Newer versions refuse the matrix (LAPACKE's argument 5) when a number in it is not finite.
  *part<i64>(launch, 4, i, 1) = checked(answer == -5 ? 1 : answer);
}

#define TESSERA_DENSE(T)                                           \
  template void qr_one<T>(const DenseSpec&, const Launch&, i64);   \
  template void eigh_one<T>(const DenseSpec&, const Launch&, i64); \
  template void eig_one<T>(const DenseSpec&, const Launch&, i64);  \
  template void svd_one<T>(const DenseSpec&, const Launch&, i64);
TESSERA_DENSE(float)
TESSERA_DENSE(double)
TESSERA_DENSE(std::complex<float>)
TESSERA_DENSE(std::complex<double>)
#undef TESSERA_DENSE

}  // namespace tessera::dense
