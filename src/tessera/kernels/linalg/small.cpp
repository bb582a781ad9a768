// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/linalg/small.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "tessera/kernels/linalg/stack.hpp"

namespace tessera::linalg::small {
namespace {

template <class T>
auto size_of_number(const T& x) {  // LAPACK's measure of a pivot
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else
    return std::abs(x.real()) + std::abs(x.imag());
}

// m (n, n) and x (n, k), row-major, both written over; 0 or the pivot that is zero, from 1.
template <class T>
i64 eliminate(i64 n, i64 k, T* m, T* x) {
  for (i64 c = 0; c < n; ++c) {
    i64 best = c;
    for (i64 r = c + 1; r < n; ++r)
      if (size_of_number(m[r * n + c]) > size_of_number(m[best * n + c])) best = r;
    if (m[best * n + c] == T(0)) return c + 1;
    if (best != c) {
      std::swap_ranges(m + best * n + c, m + (best + 1) * n, m + c * n + c);
      std::swap_ranges(x + best * k, x + (best + 1) * k, x + c * k);
    }
    for (i64 r = c + 1; r < n; ++r) {
      const T f = m[r * n + c] / m[c * n + c];
      for (i64 j = c + 1; j < n; ++j) m[r * n + j] -= f * m[c * n + j];
      for (i64 j = 0; j < k; ++j) x[r * k + j] -= f * x[c * k + j];
    }
  }
  for (i64 c = n - 1; c >= 0; --c) {
    for (i64 r = c + 1; r < n; ++r)
      for (i64 j = 0; j < k; ++j) x[c * k + j] -= m[c * n + r] * x[r * k + j];
    for (i64 j = 0; j < k; ++j) x[c * k + j] /= m[c * n + c];
  }
  return 0;
}

template <class T>
void reverse_rows(i64 n, i64 k, T* x) {
  for (i64 r = 0; r < n / 2; ++r) std::swap_ranges(x + r * k, x + (r + 1) * k, x + (n - 1 - r) * k);
}

// See [triangles] in stack.hpp.
template <class T>
i64 solve_one(i64 n, i64 k, T* m, T* x) {
  if (!is_lower(m, n, n, 1)) return eliminate(n, k, m, x);
  std::reverse(m, m + n * n);
  reverse_rows(n, k, x);
  const i64 pivot = eliminate(n, k, m, x);
  reverse_rows(n, k, x);
  return pivot == 0 ? 0 : n + 1 - pivot;
}

// The first element of matrix `i` of a stack.
i64 offset_of(const Layout& l, i64 i) {
  i64 at = 0;
  for (i64 axis = l.ndim() - 3; axis >= 0; i /= l.shape[axis--])
    at += i % l.shape[axis] * l.strides[axis];
  return at;
}

template <class T>
void load(const T* p, i64 rows, i64 columns, i64 down, i64 right, T* to) {
  for (i64 r = 0; r < rows; ++r)
    for (i64 c = 0; c < columns; ++c) *to++ = p[r * down + c * right];
}

// Matrix `i` of a stack.
template <class T>
void load(const Array& from, const T* data, i64 i, T* to) {
  const Layout& l = from.layout();
  const i64 rank = l.ndim();
  load(data + offset_of(l, i), l.shape[rank - 2], l.shape[rank - 1], l.strides[rank - 2],
       l.strides[rank - 1], to);
}

template <class T>
void solve_all(const Array& a, const Array& b, const Array& x, i64* failed, i64* pivot) {
  const i64 n = columns(x) == 0 ? 0 : rows(x), k = columns(x), size = n * k;
  const T* pa = static_cast<const T*>(a.host_data());
  const T* pb = b ? static_cast<const T*>(b.host_data()) : nullptr;
  T* px = static_cast<T*>(x.host_data());
  T m[most_rows * most_rows];
  const i64 count = size == 0 ? 0 : x.size() / size;
  for (i64 i = 0; i < count; ++i, px += size) {
    load(a, pa, i, m);
    if (pb) {
      load(b, pb, i, px);
    } else {
      std::fill_n(px, size, T(0));
      for (i64 j = 0; j < n; ++j) px[j * n + j] = T(1);
    }
    *pivot = solve_one(n, k, m, px);
    *failed = i;
    if (*pivot != 0) return;
  }
}

void require_regular(std::string_view who, const Shape& lead, i64 failed, i64 pivot) {
  if (pivot == 0) [[likely]]
    return;
  const Array info = zeros(lead, DType::i64).contiguous();
  info.host<i64>()[failed] = pivot;
  require_done(who, info, "Singular matrix", "zero pivot");
}

}  // namespace

Array solve(std::string_view who, const Array& a, const Array& b) {
  const Array x = empty_dense(b ? b.shape() : a.shape(), a.dtype());
  i64 failed = 0, pivot = 0;
  dispatch<float, double, std::complex<float>, std::complex<double>>(
      a.dtype(), who, [&]<class T>() { solve_all<T>(a, b, x, &failed, &pivot); });
  require_regular(who, leading(a), failed, pivot);
  return x;
}

bool is_plain(const Array& a, const Array& b) {
  const i64 n = a.ndim() == 2 ? a.shape(0) : 0;
  return n > 0 && a.shape(1) == n && (b.ndim() == 1 || b.ndim() == 2) && b.shape(0) == n &&
         fits(n, a.device()) && b.device() == a.device() && a.dtype() == b.dtype() &&
         working_dtype(a.dtype()) == a.dtype();
}

Array solve_plain(std::string_view who, const Array& a, const Array& b) {
  const i64 n = a.shape(0);
  const Strides &sa = a.layout().strides, &sb = b.layout().strides;
  const i64 k = b.ndim() == 1 ? 1 : b.shape(1), right = b.ndim() == 1 ? 1 : sb[1];
  const Array x = empty_dense(b.shape(), a.dtype());
  i64 pivot = 0;
  dispatch<float, double, std::complex<float>, std::complex<double>>(
      a.dtype(), who, [&]<class T>() {
        T m[most_rows * most_rows];
        T* to = static_cast<T*>(x.data());  // nobody else has it
        load(static_cast<const T*>(a.host_data()), n, n, sa[0], sa[1], m);
        load(static_cast<const T*>(b.host_data()), n, k, sb[0], right, to);
        pivot = solve_one(n, k, m, to);
      });
  require_regular(who, {}, 0, pivot);
  return x;
}

}  // namespace tessera::linalg::small
