// SPDX-License-Identifier: Apache-2.0
// LU, Cholesky and triangles in host memory; the rest of the host's half is dense_spectra.cpp.
#include <cmath>
#include <limits>

#include "tessera/base/small_vec.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/linalg/dense_cpu.hpp"
#include "tessera/kernels/matmul/blas.hpp"

namespace tessera {
namespace dense {
namespace {

// LAPACK counts pivots in 32 bits, the operands in 64. Those of matrices that are not small lie in
// memory of their own, which takes no time beside n^3 operations.
struct Pivots : SmallVec<Int, 256> {
  explicit Pivots(i64 n) : SmallVec(std::max<i64>(n, 1)) {}
};

// Some LAPACKs call a matrix that holds a NaN singular: then the pivot is one, as the answers are.
template <class T>
Int getrf(i64 m, i64 n, T* a, Int* pivots) {
  const Int info = checked(lapack::getrf<T>(i32(m), i32(n), a, ld(m), pivots));
  if (info == 0 || !std::any_of(a, a + m * n, [](const T& x) { return x != x; })) return info;
  a[(info - 1) * (m + 1)] = T(std::numeric_limits<lapack::Real<T>>::quiet_NaN());
  return 0;
}

template <class T>
void lu_one(const DenseSpec& s, const Launch& launch, i64 i) {
  const i64 k = std::min(s.m, s.n);
  Pivots p(k);
  const Int info = getrf(s.m, s.n, part<T>(launch, 0, i, s.m * s.n), p.data());
  std::copy_n(p.data(), k, part<i64>(launch, 1, i, k));
  i64* rows = part<i64>(launch, 2, i, s.m);
  for (i64 j = 0; j < s.m; ++j) rows[j] = j;
  for (i64 j = 0; j < k; ++j) std::swap(rows[j], rows[p[j] - 1]);
  *part<i64>(launch, 3, i, 1) = info;
}

template <class T>
void lu_solve_one(const DenseSpec& s, const Launch& launch, i64 i) {
  Pivots p(s.n);
  const i64* given = part<i64>(launch, 1, i, s.n);
  for (i64 j = 0; j < s.n; ++j) p[j] = i32(given[j]);
  checked(lapack::getrs<T>(lapack::letter(s.turn), i32(s.n), i32(s.columns),
                           part<T>(launch, 0, i, s.n * s.n), ld(s.n), p.data(),
                           part<T>(launch, 2, i, s.n * s.columns), ld(s.n)));
}

template <class T>
void inverse_one(const DenseSpec& s, const Launch& launch, i64 i) {
  const i64 size = s.n * s.n;
  T* x = part<T>(launch, 1, i, size);
  std::copy_n(part<T>(launch, 0, i, size), size, x);
  Pivots p(s.n);
  Int info = getrf(s.n, s.n, x, p.data());
  if (info == 0) info = checked(lapack::getri<T>(i32(s.n), x, ld(s.n), p.data()));
  if (info != 0) std::fill_n(x, size, T(std::numeric_limits<lapack::Real<T>>::quiet_NaN()));
  *part<i64>(launch, 2, i, 1) = info;
}

// Note [determinants]: the product of the pivots is kept as a number near one and a power of two,
// so that only a determinant that is itself too large or too small leaves the range.
template <class T>
void slogdet_one(const DenseSpec& s, const Launch& launch, i64 i) {
  using R = lapack::Real<T>;
  T* a = part<T>(launch, 0, i, s.n * s.n);
  Pivots p(s.n);
  getrf(s.n, s.n, a, p.data());
  T sign(1), product(1);
  R logs(0);
  int power = 0;
  for (i64 j = 0; j < s.n; ++j) {
    const T d = a[j * s.n + j];
    const R length = std::abs(d);
    const R turn = p[j] == j + 1 ? R(1) : R(-1);
    sign *= length == R(0) ? T(0) : d / length * turn;
    logs += std::log(length);
    product *= d * turn;
    int e = 0;
    if (const R now = std::abs(product); now > R(0) && std::isfinite(now)) {
      std::frexp(now, &e);
      product *= std::ldexp(R(1), -e);
      power += e;
    }
  }
  *part<T>(launch, 1, i, 1) = sign;
  *part<R>(launch, 2, i, 1) = logs;
  if constexpr (lapack::is_complex<T>)
    *part<T>(launch, 3, i, 1) =
        T(std::ldexp(product.real(), power), std::ldexp(product.imag(), power));
  else
    *part<T>(launch, 3, i, 1) = std::ldexp(product, power);
}

template <class T>
void cholesky_one(const DenseSpec& s, const Launch& launch, i64 i) {
  T* a = part<T>(launch, 0, i, s.n * s.n);
  *part<i64>(launch, 1, i, 1) =
      checked(lapack::potrf<T>(s.lower ? 'L' : 'U', i32(s.n), a, ld(s.n)));
  clear(a, s.n, s.n, s.lower);
}

template <class T>
void cholesky_solve_one(const DenseSpec& s, const Launch& launch, i64 i) {
  checked(lapack::potrs<T>(s.lower ? 'L' : 'U', i32(s.n), i32(s.columns),
                           part<T>(launch, 0, i, s.n * s.n), ld(s.n),
                           part<T>(launch, 1, i, s.n * s.columns), ld(s.n)));
}

template <class T>
void triangular_solve_one(const DenseSpec& s, const Launch& launch, i64 i) {
  *part<i64>(launch, 2, i, 1) = checked(lapack::trtrs<T>(
      s.lower ? 'L' : 'U', lapack::letter(s.turn), s.unit ? 'U' : 'N', i32(s.n), i32(s.columns),
      part<T>(launch, 0, i, s.n * s.n), ld(s.n), part<T>(launch, 1, i, s.n * s.columns), ld(s.n)));
}

using One = void (*)(const DenseSpec&, const Launch&, i64);

template <class T>
One function_of(DenseOp op) {
  switch (op) {
    case DenseOp::lu: return &lu_one<T>;
    case DenseOp::lu_solve: return &lu_solve_one<T>;
    case DenseOp::inverse: return &inverse_one<T>;
    case DenseOp::slogdet: return &slogdet_one<T>;
    case DenseOp::cholesky: return &cholesky_one<T>;
    case DenseOp::cholesky_solve: return &cholesky_solve_one<T>;
    case DenseOp::triangular_solve: return &triangular_solve_one<T>;
    case DenseOp::qr: return &qr_one<T>;
    case DenseOp::eigh: return &eigh_one<T>;
    case DenseOp::eig: return &eig_one<T>;
    default: return &svd_one<T>;
  }
}

struct State {
  DenseSpec spec;
  One one = nullptr;
};

// Whether the matrices of a stack share the threads, or each has all of them: small ones do, and
// so do larger ones of which general eigenvalues are wanted, where there are enough of them: most
// of that work is done by one thread in any case.
bool share_threads(const DenseSpec& s) {
  const i64 threads = num_threads(), rows = std::max(s.m, s.n);
  if (s.batch == 1 || threads == 1) return false;
  return rows < 256 || (s.op == DenseOp::eig && rows < 2048 && 2 * s.batch >= threads);
}

void run(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const State*>(state);
  limit_library_threads();
  const auto each = [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) s.one(s.spec, launch, i);
  };
  if (!share_threads(s.spec)) return each(0, s.spec.batch);
  const blas::SingleThread alone;
  const i64 work = std::max<i64>(1, s.spec.n * s.spec.n * std::max(s.spec.n, s.spec.columns));
  parallel_for(s.spec.batch, std::max<i64>(1, 20000 / work), each);
}

}  // namespace
}  // namespace dense

Prepared prepare_dense_cpu(const DenseSpec& spec, Device) {
  auto state = std::make_shared<dense::State>();
  state->spec = spec;
  dispatch<float, double, std::complex<float>, std::complex<double>>(
      spec.dtype, "linalg", [&]<class T>() { state->one = dense::function_of<T>(spec.op); });
  Prepared p;
  const double n = static_cast<double>(std::max(spec.m, spec.n));
  p.flops = static_cast<double>(spec.batch) * n * n * (n + static_cast<double>(spec.columns));
  p.task = {&dense::run, std::move(state)};
  return p;
}

}  // namespace tessera
