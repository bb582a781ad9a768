// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/linalg/linalg.hpp"

#include <cmath>
#include <limits>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/linalg/lapack.hpp"

namespace tessera::linalg {
namespace {

using lapack::Int;

Array turned(const Array& a) { return a.swap_axes(a.ndim() - 2, a.ndim() - 1); }

// The matrices of an array on the host, each of them column-major, in memory of their own.
Array columns_of(const Array& a, DType t) {
  const Array there = turned(a.to(cpu));
  const Array mine = empty_dense(there.shape(), t);
  mine.copy_from(there.astype(t));
  return mine;
}

// A result that was formed column by column, as the caller wants it.
Array rows_of(const Array& columns, Device device) { return turned(columns).copy().to(device); }

void require_matrices(std::string_view who, const Array& a) {
  require<ShapeError>(a.ndim() >= 2, who,
                      ": expected a matrix or a stack of them, got an array of shape ", a.shape());
  for (const i64 axis : {a.ndim() - 2, a.ndim() - 1})
    require<ShapeError>(a.shape(axis) < std::numeric_limits<Int>::max(), who, ": a matrix of ",
                        a.shape(), " is larger than LAPACK can count");
}

void require_square(std::string_view who, const Array& a) {
  require_matrices(who, a);
  require<ShapeError>(a.shape(a.ndim() - 2) == a.shape(a.ndim() - 1), who,
                      ": expected square matrices, got shape ", a.shape());
}

void require_done(std::string_view who, Int info, const char* reason) {
  require<BackendError>(info >= 0, who, ": LAPACK refuses its argument ", i64{-info});
  require<ArgumentError>(info == 0, who, ": ", reason);
}

Shape leading(const Array& a) { return Shape(a.shape().begin(), a.shape().end() - 2); }

Shape with(Shape lead, std::initializer_list<i64> rest) {
  for (const i64 n : rest) lead.push_back(n);
  return lead;
}

Int i32(i64 n) { return static_cast<Int>(n); }
Int ld(i64 n) { return static_cast<Int>(std::max<i64>(1, n)); }

// f.operator()<T>() with the type of LAPACK's numbers.
template <class F>
void by_type(DType t, std::string_view who, F&& f) {
  dispatch<float, double, std::complex<float>, std::complex<double>>(t, who, f);
}

template <class T>
T* numbers(const Array& a) {
  return static_cast<T*>(a.host_data());
}

// LU of each matrix in place; `info` of a singular one is passed on.
template <class T, class F>
void factored(const Array& lu, F&& each) {
  const i64 n = lu.shape(lu.ndim() - 1), count = n == 0 ? 0 : lu.size() / (n * n);
  std::vector<Int> pivots(static_cast<std::size_t>(n));
  for (i64 i = 0; i < count; ++i) {
    T* a = numbers<T>(lu) + i * n * n;
    const Int info = lapack::getrf<T>(i32(n), i32(n), a, ld(n), pivots.data());
    each(i, a, pivots, info);
  }
}

// The triangle of a column-major matrix above (or below) its diagonal becomes zero.
template <class T>
void clear(T* a, i64 rows, i64 columns, bool above) {
  for (i64 j = 0; j < columns; ++j) {
    if (above)
      std::fill(a + j * rows, a + j * rows + std::min(j, rows), T(0));
    else if (j + 1 < rows)
      std::fill(a + j * rows + j + 1, a + (j + 1) * rows, T(0));
  }
}

}  // namespace

DType working_dtype(DType t) {
  if (t == DType::f16 || t == DType::bf16) return DType::f32;
  return is_inexact(t) ? t : DType::f64;
}

Array solve(const Array& a, const Array& b) {
  require_square("solve", a);
  const i64 n = a.shape(a.ndim() - 1);
  const bool vector = b.ndim() == 1;
  const Array right = vector ? b.expand_dims(1) : b;
  require<ShapeError>(right.ndim() >= 2 && right.shape(right.ndim() - 2) == n,
                      "solve: matrices of shape ", a.shape(), " and right sides of shape ",
                      b.shape(), " do not fit");
  const Array* both[] = {&a, &b};
  const Device device = common_device("solve", both);
  const DType t = promote(working_dtype(a.dtype()), working_dtype(b.dtype()));
  const Shape lead = broadcast_shapes(leading(a), leading(right));
  const i64 k = right.shape(right.ndim() - 1);
  const Array lu = columns_of(a.broadcast_to(with(lead, {n, n})), t),
              x = columns_of(right.broadcast_to(with(lead, {n, k})), t);
  by_type(t, "solve", [&]<class T>() {
    factored<T>(lu, [&](i64 i, T* f, const std::vector<Int>& pivots, Int info) {
      require_done("solve", info, "Singular matrix");
      lapack::getrs<T>(i32(n), i32(k), f, ld(n), pivots.data(), numbers<T>(x) + i * n * k, ld(n));
    });
  });
  const Array y = rows_of(x, device);
  return vector ? y.squeeze(y.ndim() - 1) : y;
}

Array inverse(const Array& a) {
  require_square("inverse", a);
  const DType t = working_dtype(a.dtype());
  const Array x = columns_of(a, t);
  by_type(t, "inverse", [&]<class T>() {
    factored<T>(x, [&](i64, T* f, const std::vector<Int>& pivots, Int info) {
      require_done("inverse", info, "Singular matrix");
      const i64 n = x.shape(x.ndim() - 1);
      require_done("inverse", lapack::getri<T>(i32(n), f, ld(n), pivots.data()), "Singular matrix");
    });
  });
  return rows_of(x, a.device());
}

Array cholesky(const Array& a) {
  require_square("cholesky", a);
  const DType t = working_dtype(a.dtype());
  const Array x = columns_of(a, t);
  const i64 n = x.shape(x.ndim() - 1);
  by_type(t, "cholesky", [&]<class T>() {
    for (T *p = numbers<T>(x), *end = p + x.size(); p != end; p += n * n) {
      require_done("cholesky", lapack::potrf<T>(i32(n), p, ld(n)),
                   "Matrix is not positive definite");
      clear(p, n, n, true);
    }
  });
  return rows_of(x, a.device());
}

Qr qr(const Array& a) {
  require_matrices("qr", a);
  const DType t = working_dtype(a.dtype());
  const i64 m = a.shape(a.ndim() - 2), n = a.shape(a.ndim() - 1), k = std::min(m, n);
  const Array work = columns_of(a, t);
  const Array q = empty_dense(with(leading(a), {k, m}), t),
              r = empty_dense(with(leading(a), {n, k}), t);
  by_type(t, "qr", [&]<class T>() {
    std::vector<T> tau(static_cast<std::size_t>(k));
    const i64 count = count_of(leading(a));
    for (i64 i = 0; i < count && k > 0; ++i) {
      T *w = numbers<T>(work) + i * m * n, *qi = numbers<T>(q) + i * m * k,
        *ri = numbers<T>(r) + i * k * n;
      require_done("qr", lapack::geqrf<T>(i32(m), i32(n), w, ld(m), tau.data()), "failed");
      for (i64 j = 0; j < n; ++j) std::copy(w + j * m, w + j * m + k, ri + j * k);
      clear(ri, k, n, false);
      std::copy(w, w + m * k, qi);
      require_done("qr", lapack::orgqr<T>(i32(m), i32(k), i32(k), qi, ld(m), tau.data()), "failed");
    }
  });
  return {rows_of(q, a.device()), rows_of(r, a.device())};
}

Eigh eigh(const Array& a) {
  require_square("eigh", a);
  const DType t = working_dtype(a.dtype());
  const Array v = columns_of(a, t);
  const i64 n = a.shape(a.ndim() - 1);
  const Array values = empty_dense(with(leading(a), {n}), real_of(t));
  by_type(t, "eigh", [&]<class T>() {
    auto* w = numbers<lapack::Real<T>>(values);
    for (T *p = numbers<T>(v), *end = p + v.size(); p != end; p += n * n, w += n)
      require_done("eigh", lapack::heevd<T>(i32(n), p, ld(n), w), "Eigenvalues did not converge");
  });
  return {values.to(a.device()), rows_of(v, a.device())};
}

Svd svd(const Array& a, bool full_matrices) {
  require_matrices("svd", a);
  const DType t = working_dtype(a.dtype());
  const i64 m = a.shape(a.ndim() - 2), n = a.shape(a.ndim() - 1), k = std::min(m, n);
  const i64 mu = full_matrices ? m : k, nv = full_matrices ? n : k;
  const Array work = columns_of(a, t), u = zeros(with(leading(a), {mu, m}), t),
              s = empty_dense(with(leading(a), {k}), real_of(t)),
              vh = zeros(with(leading(a), {n, nv}), t);
  const Array ud = u.contiguous(), vd = vh.contiguous();
  by_type(t, "svd", [&]<class T>() {
    const i64 count = count_of(leading(a));
    for (i64 i = 0; i < count; ++i) {
      T *ui = numbers<T>(ud) + i * m * mu, *vi = numbers<T>(vd) + i * nv * n;
      if (k == 0) {  // nothing to rotate: identities
        for (i64 j = 0; j < std::min(m, mu); ++j) ui[j * m + j] = T(1);
        for (i64 j = 0; j < std::min(n, nv); ++j) vi[j * nv + j] = T(1);
        continue;
      }
      const Int info =
          lapack::gesdd<T>(full_matrices ? 'A' : 'S', i32(m), i32(n), numbers<T>(work) + i * m * n,
                           ld(m), numbers<lapack::Real<T>>(s) + i * k, ui, ld(m), vi, ld(nv));
      // Newer versions refuse the matrix (LAPACKE's argument 5) when a number in it is not finite.
      require_done("svd", info == -5 ? 1 : info, "SVD did not converge");
    }
  });
  return {rows_of(ud, a.device()), s.to(a.device()), rows_of(vd, a.device())};
}

SlogDet slogdet(const Array& a) {
  require_square("slogdet", a);
  const DType t = working_dtype(a.dtype());
  const Array lu = columns_of(a, t), sign = empty_dense(leading(a), t),
              logs = empty_dense(leading(a), real_of(t));
  const i64 n = a.shape(a.ndim() - 1);
  by_type(t, "slogdet", [&]<class T>() {
    using R = lapack::Real<T>;
    std::fill(numbers<T>(sign), numbers<T>(sign) + sign.size(), T(1));
    std::fill(numbers<R>(logs), numbers<R>(logs) + logs.size(), R(0));
    factored<T>(lu, [&](i64 i, T* f, const std::vector<Int>& pivots, Int) {
      T& direction = numbers<T>(sign)[i];
      R& size = numbers<R>(logs)[i];
      for (i64 j = 0; j < n; ++j) {
        const T d = f[j * n + j];
        const R length = std::abs(d);
        direction *= length == R(0) ? T(0) : d / length;
        if (pivots[static_cast<std::size_t>(j)] != j + 1) direction = -direction;
        size += std::log(length);
      }
    });
  });
  return {sign.to(a.device()), logs.to(a.device())};
}

Array det(const Array& a) {
  const SlogDet s = slogdet(a);
  return ops::multiply(s.sign, ops::exp(s.logabsdet));
}

Lstsq lstsq(const Array& a, const Array& b, double rcond) {
  require<ShapeError>(a.ndim() == 2 && (b.ndim() == 1 || b.ndim() == 2) && b.shape(0) == a.shape(0),
                      "lstsq: a matrix of shape ", a.shape(), " and right sides of shape ",
                      b.shape(), " do not fit");
  require_matrices("lstsq", a);
  const bool vector = b.ndim() == 1;
  const DType t = promote(working_dtype(a.dtype()), working_dtype(b.dtype()));
  const Array right = vector ? b.expand_dims(1) : b;
  const i64 m = a.shape(0), n = a.shape(1), k = right.shape(1), tall = std::max(m, n);
  const Array work = columns_of(a, t), bx = empty_dense({k, tall}, t),
              s = empty_dense({std::min(m, n)}, real_of(t));
  bx.fill(Value(0));
  bx.slice(1, 0, m).copy_from(turned(right.to(cpu).astype(t)));
  Lstsq out;
  by_type(t, "lstsq", [&]<class T>() {
    using R = lapack::Real<T>;
    if (s.size() == 0) return;
    const double precision = rcond < 0 ? static_cast<double>(std::numeric_limits<R>::epsilon()) *
                                             static_cast<double>(tall)
                                       : rcond;
    Int rank = 0;
    require_done("lstsq",
                 lapack::gelsd<T>(i32(m), i32(n), i32(k), numbers<T>(work), ld(m), numbers<T>(bx),
                                  ld(tall), numbers<R>(s), static_cast<R>(precision), &rank),
                 "SVD did not converge in Linear Least Squares");
    out.rank = rank;
  });
  const Device device = a.device();
  const Array x = rows_of(bx.slice(1, 0, n), device);
  out.x = vector ? x.squeeze(1) : x;
  out.s = s.to(device);
  const bool known = m > n && out.rank == n;
  out.residuals = known ? reduce(ReduceOp::sum_abs2, bx.slice(1, n, m), Axes{1}).to(device)
                        : zeros({0}, real_of(t), device);
  return out;
}

}  // namespace tessera::linalg
