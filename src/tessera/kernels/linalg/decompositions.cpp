// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/linalg/decompositions.hpp"

#include "tessera/kernels/linalg/dense_cpu.hpp"
#include "tessera/kernels/linalg/stack.hpp"

namespace tessera::linalg {
namespace {

using dense::checked;
using dense::i32;
using dense::ld;

template <class F>
void with_number(DType t, F&& f) {
  dispatch<float, double, std::complex<float>, std::complex<double>>(t, "linalg",
                                                                     std::forward<F>(f));
}

// cuSOLVER has none of these, and nothing moves to another device in silence.
void require_host(std::string_view who, Device device) {
  if (&kernels_of(device) != &cpu_kernels()) throw NotAvailable(no_kernel_text(who, device));
}

Array host_columns(const Array& a, DType t) { return columns_of(a.to(cpu), t); }
Array host_room(const Shape& shape, DType t) { return empty_dense(shape, t, cpu); }
Array back(const Array& columns, Device device) { return turned(columns).contiguous().to(device); }

void require_finite(std::string_view who, const Array& a) {
  const bool finite = a.size() == 0 || reduce(ReduceOp::all, ops::isfinite(a)).item().as<bool>();
  require<LinAlgError>(finite, who, ": Array must not contain infs or NaNs");
}

// How LAPACK counts the exchanges and blocks of L D Lᵀ: for each row the one it is exchanged with,
// and where a block of `size` rows begins.
struct Blocks {
  std::vector<i64> other, size;
};
Blocks blocks_of(const std::vector<lapack::Int>& pivots, bool lower) {
  const i64 n = static_cast<i64>(pivots.size());
  Blocks b{std::vector<i64>(pivots.size()), std::vector<i64>(pivots.size(), 0)};
  const auto at = [](auto& v, i64 i) -> auto& { return v[static_cast<std::size_t>(i)]; };
  for (i64 i = 0; i < n; ++i) at(b.other, i) = i;
  const i64 step = lower ? 1 : -1;
  for (i64 i = lower ? 0 : n - 1; i >= 0 && i < n; i += step) {
    const i64 p = at(pivots, i);
    if (p > 0) {
      at(b.other, i) = p - 1;
      at(b.size, i) = 1;
    } else {  // two rows; the second of them is exchanged
      at(b.other, i + step) = -p - 1;
      at(b.size, lower ? i : i - 1) = 2;
      i += step;
    }
  }
  return b;
}

// LAPACK's packed factor as L, D and the order of the rows; all column-major, n by n.
template <class T>
void unpack_ldl(i64 n, const Blocks& blocks, bool lower, bool hermitian, const T* packed, T* l,
                T* d, i64* order) {
  const auto at = [n](i64 i, i64 j) { return i + j * n; };
  std::fill(l, l + n * n, T(0));
  std::fill(d, d + n * n, T(0));
  for (i64 j = 0; j < n; ++j) {
    for (i64 i = lower ? j + 1 : 0; i < (lower ? n : j); ++i) l[at(i, j)] = packed[at(i, j)];
    l[at(j, j)] = T(1);
    d[at(j, j)] = packed[at(j, j)];
    order[j] = j;
  }
  for (i64 j = 0; j < n; ++j) {
    if (blocks.size[static_cast<std::size_t>(j)] != 2) continue;
    const i64 row = lower ? j + 1 : j, column = lower ? j : j + 1;
    const T v = packed[at(row, column)];
    d[at(row, column)] = v;
    if constexpr (lapack::is_complex<T>)
      d[at(column, row)] = hermitian ? std::conj(v) : v;
    else
      d[at(column, row)] = v;
    l[at(row, column)] = T(0);
  }
  // Exchanges of later rows act on the columns that were eliminated with them.
  const i64 step = lower ? -1 : 1;
  for (i64 i = lower ? n - 1 : 0; i >= 0 && i < n; i += step) {
    const i64 other = blocks.other[static_cast<std::size_t>(i)];
    if (other == i) continue;
    const bool second = lower ? i > 0 && blocks.size[static_cast<std::size_t>(i - 1)] == 2
                              : blocks.size[static_cast<std::size_t>(i)] == 2;
    const i64 begin = lower ? i - (second ? 1 : 0) : 0, end = lower ? n : i + 1 + (second ? 1 : 0);
    for (i64 j = begin; j < end; ++j) std::swap(l[at(i, j)], l[at(other, j)]);
    std::swap(order[i], order[other]);
  }
  std::vector<i64> turned_order(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; ++i) turned_order[static_cast<std::size_t>(order[i])] = i;
  std::copy(turned_order.begin(), turned_order.end(), order);
}

void require_bands(std::string_view who, const Array& bands) {
  require<ShapeError>(bands.ndim() == 2, who, ": expected the bands as a matrix, got shape ",
                      bands.shape());
}

// Of bands that have been looked at: wrong arguments are told on every device.
struct RightSides {
  RightSides(std::string_view who, const Array& bands, const Array& b) : vector(b.ndim() == 1) {
    const Array many = vector ? b.expand_dims(1) : b;
    require<ShapeError>(many.ndim() == 2 && rows(many) == columns(bands), who, ": bands of shape ",
                        bands.shape(), " and right sides of shape ", b.shape(), " do not fit");
    const Array* both[] = {&bands, &b};
    device = common_device(who, both);
    require_host(who, device);
    dtype = promote(working_dtype(bands.dtype()), working_dtype(b.dtype()));
    require_finite(who, bands);
    require_finite(who, b);
    x = host_columns(many, dtype);
    ab = host_columns(bands, dtype);
  }
  Array result() const {
    const Array y = turned(x);
    return (vector ? y.squeeze(1) : y).contiguous().to(device);
  }
  bool vector;
  Device device;
  DType dtype = DType::f64;
  Array ab, x;  // column-major, in host memory
};

// One pair; alpha, beta and the vectors are complex whatever the pair. `left` may be null.
template <class T, class C = std::complex<lapack::Real<T>>>
lapack::Int eig_pair_one(i64 n, T* a, T* b, C* alpha, C* beta, C* left, C* right) {
  const char want = left != nullptr ? 'V' : 'N';
  if constexpr (lapack::is_complex<T>) {
    return lapack::ggev_complex<T>(want, 'V', i32(n), a, b, alpha, beta, left, right);
  } else {
    const auto size = static_cast<std::size_t>(n * n);
    std::vector<T> re(static_cast<std::size_t>(n)), im(re.size()), scale(re.size());
    std::vector<T> l(left != nullptr ? size : 1), r(size);
    const lapack::Int info = lapack::ggev_real<T>(want, 'V', i32(n), a, b, re.data(), im.data(),
                                                  scale.data(), l.data(), r.data());
    for (std::size_t j = 0; j < re.size(); ++j) {
      alpha[j] = {re[j], im[j]};
      beta[j] = scale[j];
    }
    if (info == 0) dense::unpack(n, im, r, right);
    if (info == 0 && left != nullptr) dense::unpack(n, im, l, left);
    return info;
  }
}

}  // namespace

Schur schur(const Array& a, bool complex) {
  const TagScope scope = tagged("schur", a);
  require_square("schur", a);
  require_host("schur", a.device());
  require_finite("schur", a);
  const DType t = complex ? complex_of(working_dtype(a.dtype())) : working_dtype(a.dtype());
  const i64 n = rows(a), many = count_of(leading(a));
  const Array m = host_columns(a, t), z = host_room(a.shape(), t),
              info = host_room(leading(a), DType::i64);
  with_number(t, [&]<class T>() {
    T *at = m.host<T>(), *to = z.host<T>();
    for (i64 i = 0; i < many && n > 0; ++i)
      info.host<i64>()[i] = checked(lapack::gees<T>(i32(n), at + i * n * n, ld(n), to + i * n * n));
  });
  if (n > 0) require_done("schur", info, "Schur form not found");
  return {back(m, a.device()), back(z, a.device())};
}

Ldl ldl(const Array& a, bool lower, bool hermitian) {
  const TagScope scope = tagged("ldl", a);
  require_square("ldl", a);
  require_host("ldl", a.device());
  require_finite("ldl", a);
  const DType t = working_dtype(a.dtype());
  const i64 n = rows(a), many = count_of(leading(a));
  const Array m = host_columns(a, t), l = host_room(a.shape(), t), d = host_room(a.shape(), t),
              order = host_room(with(leading(a), {n}), DType::i64);
  with_number(t, [&]<class T>() {
    std::vector<lapack::Int> pivots(static_cast<std::size_t>(n));
    for (i64 i = 0; i < many && n > 0; ++i) {
      T* packed = m.host<T>() + i * n * n;
      if constexpr (lapack::is_complex<T>)  // imaginary parts on the diagonal are not read
        if (hermitian)
          for (i64 j = 0; j < n; ++j) packed[j * (n + 1)] = std::real(packed[j * (n + 1)]);
      // A pivot that is exactly zero is no error: d is singular, the factors are right.
      checked(lapack::hetrf<T>(hermitian, lower ? 'L' : 'U', i32(n), packed, ld(n), pivots.data()));
      unpack_ldl(n, blocks_of(pivots, lower), lower, hermitian, packed, l.host<T>() + i * n * n,
                 d.host<T>() + i * n * n, order.host<i64>() + i * n);
    }
  });
  return {back(l, a.device()), back(d, a.device()), order.to(a.device())};
}

Array solve_banded(i64 lower, i64 upper, const Array& bands, const Array& b) {
  const TagScope scope = tagged("solve_banded", bands);
  require_bands("solve_banded", bands);
  require<ShapeError>(lower >= 0 && upper >= 0 && rows(bands) == lower + upper + 1,
                      "solve_banded: ", lower, " diagonals below and ", upper,
                      " above the main one are ", lower + upper + 1, " rows, got shape ",
                      bands.shape());
  const RightSides s("solve_banded", bands, b);
  const i64 n = columns(bands), high = 2 * lower + upper + 1;
  with_number(s.dtype, [&]<class T>() {
    if (s.x.size() == 0) return;
    std::vector<T> room(static_cast<std::size_t>(high * n), T(0));
    std::vector<lapack::Int> pivots(static_cast<std::size_t>(n));
    for (i64 j = 0; j < n; ++j)
      std::copy_n(s.ab.host<T>() + j * (lower + upper + 1), lower + upper + 1,
                  room.data() + j * high + lower);
    const lapack::Int info =
        checked(lapack::gbsv<T>(i32(n), i32(lower), i32(upper), i32(rows(s.x)), room.data(),
                                ld(high), pivots.data(), s.x.host<T>(), ld(n)));
    require<LinAlgError>(info == 0, "solve_banded: Singular matrix: pivot ", i64{info});
  });
  return s.result();
}

Array solve_banded_positive(const Array& bands, const Array& b, bool lower) {
  const TagScope scope = tagged("solveh_banded", bands);
  require_bands("solveh_banded", bands);
  require<ShapeError>(rows(bands) >= 1,
                      "solveh_banded: expected at least the main diagonal, got shape ",
                      bands.shape());
  const RightSides s("solveh_banded", bands, b);
  const i64 n = columns(bands), high = rows(bands);
  with_number(s.dtype, [&]<class T>() {
    if (s.x.size() == 0) return;
    const lapack::Int info =
        checked(lapack::pbsv<T>(lower ? 'L' : 'U', i32(n), i32(high - 1), i32(rows(s.x)),
                                s.ab.host<T>(), ld(high), s.x.host<T>(), ld(n)));
    require<LinAlgError>(
        info == 0, "solveh_banded: Matrix is not positive definite: leading minor ", i64{info});
  });
  return s.result();
}

EigPair eig_pair(const Array& a, const Array& b, bool left) {
  const TagScope scope = tagged("eig", a);
  require_square("eig", a);
  require<ShapeError>(a.shape() == b.shape(), "eig: matrices of shapes ", a.shape(), " and ",
                      b.shape(), " are no pair");
  const Array* both[] = {&a, &b};
  const Device device = common_device("eig", both);
  require_host("eig of a pair", device);
  require_finite("eig", a);
  require_finite("eig", b);
  const DType t = promote(working_dtype(a.dtype()), working_dtype(b.dtype())), c = complex_of(t);
  const i64 n = rows(a), many = count_of(leading(a));
  const Array ma = host_columns(a, t), mb = host_columns(b, t),
              alpha = host_room(with(leading(a), {n}), c), beta = host_room(alpha.shape(), c),
              right = host_room(a.shape(), c), other = host_room(left ? a.shape() : Shape{0}, c),
              info = host_room(leading(a), DType::i64);
  with_number(t, [&]<class T>() {
    using C = std::complex<lapack::Real<T>>;
    for (i64 i = 0; i < many && n > 0; ++i) {
      const i64 at = i * n * n;
      info.host<i64>()[i] = checked(eig_pair_one<T>(
          n, ma.host<T>() + at, mb.host<T>() + at, alpha.host<C>() + i * n, beta.host<C>() + i * n,
          left ? other.host<C>() + at : nullptr, right.host<C>() + at));
    }
  });
  if (n > 0) require_done("eig", info, "Eigenvalues did not converge");
  return {alpha.to(device), beta.to(device), back(right, device),
          left ? back(other, device) : Array{}};
}

}  // namespace tessera::linalg
