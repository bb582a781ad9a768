// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/symmetric_vector.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera {
namespace {

constexpr i64 rows_at_once = 4;
constexpr i64 worth_a_thread = 1 << 16;  // elements

// Four rows from column `from` on, as far as whole registers go: what they add to their own sums,
// and to y below. Returns the first column that is left. By hand: compilers leave sums in order.
template <class T>
requires std::is_floating_point_v<T> i64 four_rows(const T* const* p, const T* x, const T* mine,
                                                   T* y, i64 from, i64 width, T* sums) {
  using V = Register<T>;
  V s0{}, s1{}, s2{}, s3{};
  const T *p0 = p[0], *p1 = p[1], *p2 = p[2], *p3 = p[3];
  const V m0 = V{} + mine[0], m1 = V{} + mine[1], m2 = V{} + mine[2], m3 = V{} + mine[3];
  i64 c = from;
  for (; c + lanes<T> <= width; c += lanes<T>) {
    const V a = load_register(p0 + c), b = load_register(p1 + c), d = load_register(p2 + c),
            e = load_register(p3 + c), v = load_register(x + c);
    s0 += a * v;
    s1 += b * v;
    s2 += d * v;
    s3 += e * v;
    store_register<T>(y + c, load_register(y + c) + ((a * m0 + b * m1) + (d * m2 + e * m3)));
  }
  for (int l = 0; l < lanes<T>; ++l) {
    sums[0] += s0[l];
    sums[1] += s1[l];
    sums[2] += s2[l];
    sums[3] += s3[l];
  }
  return c;
}

template <class T>
requires is_complex_v<T> i64 four_rows(const T* const* p, const T* x, const T* mine, T* y, i64 from,
                                       i64 width, T* sums) {
  T s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  for (i64 c = from; c < width; ++c) {
    const T a = p[0][c], b = p[1][c], d = p[2][c], e = p[3][c], v = x[c];
    s0 += a * v;
    s1 += b * v;
    s2 += d * v;
    s3 += e * v;
    y[c] += (a * mine[0] + b * mine[1]) + (d * mine[2] + e * mine[3]);
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
  return width;
}

// Columns [from, to) of a row, one by one.
template <class T>
void one_row(const T* p, const T* x, T mine, T* y, i64 from, i64 to, T* sum) {
  for (i64 c = from; c < to; ++c) {
    *sum += p[c] * x[c];
    y[c] += p[c] * mine;
  }
}

// One strip: x and y begin at its first column, y gets what it adds. `mine` are the x of the rows
// as the columns see them: with the other sign where the matrix is antisymmetric.
template <class T>
void add_strip(const T* data, i64 height, i64 width, bool anti, const T* x, T* y) {
  for (i64 r = 0; r < height; r += rows_at_once) {
    const i64 rows = std::min(rows_at_once, height - r);
    T sums[rows_at_once], mine[rows_at_once];
    const T* p[rows_at_once];
    for (i64 k = 0; k < rows; ++k) {
      p[k] = data + (r + k) * width;
      mine[k] = anti ? -x[r + k] : x[r + k];
      sums[k] = p[k][r + k] * x[r + k];
    }
    const bool whole = rows == rows_at_once;
    const i64 corner = whole ? std::min(width, r + rows) : width;
    for (i64 k = 0; k < rows; ++k) one_row(p[k], x, mine[k], y, r + k + 1, corner, sums + k);
    if (whole) {
      const i64 left = four_rows(p, x, mine, y, corner, width, sums);
      for (i64 k = 0; k < rows; ++k) one_row(p[k], x, mine[k], y, left, width, sums + k);
    }
    for (i64 k = 0; k < rows; ++k) y[r + k] += sums[k];
  }
}

template <class T>
T conjugate(T v) {
  if constexpr (is_complex_v<T>)
    return conj(v);
  else
    return v;
}

template <class T>
void run(const Strips& strips, const Array& data, const SymmetricOptions& o, const Array& x,
         const Array& y) {
  const i64 n = strips.n(), step = x.layout().strides[0];
  const T* const elements = data.host<T>();
  const T* const from = x.host<T>();
  T* const to = y.host<T>();
  // conj(a) x = conj(a conj(x))
  std::vector<T> in(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; ++i)
    in[static_cast<std::size_t>(i)] = o.conj ? conjugate(from[i * step]) : from[i * step];
  const i64 count = static_cast<i64>(strips.list().size());
  const i64 tasks = std::clamp<i64>(
      std::min<i64>(num_threads(), strips.elements() / worth_a_thread), 1, std::max<i64>(count, 1));
  std::vector<T> sums(static_cast<std::size_t>(tasks * n), T(0));
  parallel_for(tasks, 1, [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end; ++t)
      for (i64 k = t; k < count; k += tasks) {  // strips get shorter: assigned in turn
        const Strip& s = strips.list()[static_cast<std::size_t>(k)];
        add_strip(elements + s.offset, s.end - s.begin, s.width, o.anti, in.data() + s.begin,
                  sums.data() + t * n + s.begin);
      }
  });
  T alpha;
  if constexpr (is_complex_v<T>)
    alpha = T(o.alpha);
  else
    alpha = static_cast<T>(o.alpha.re);
  for (i64 i = 0; i < n; ++i) {
    T sum = T(0);
    for (i64 t = 0; t < tasks; ++t) sum += sums[static_cast<std::size_t>(t * n + i)];
    to[i] = alpha * (o.conj ? conjugate(sum) : sum);
  }
}

}  // namespace

void symmetric_vector(const Strips& strips, const Array& data, const SymmetricOptions& options,
                      const Array& x, const Array& y) {
  dispatch<float, double, c64, c128>(data.dtype(), "matvec",
                                     [&]<class T>() { run<T>(strips, data, options, x, y); });
}

}  // namespace tessera
