// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/symmetric_vector.hpp"

#include <algorithm>
#include <vector>

#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

constexpr i64 rows_at_once = 4;
constexpr i64 worth_a_thread = 1 << 16;  // elements

template <class T>
constexpr i64 lanes = 32 / sizeof(T) > 0 ? 32 / sizeof(T) : 1;

// Four rows from column `from` on: their products with x, and what they add to y below.
template <class T>
void four_rows(const T* const* p, const T* x, const T* mine, T* y, i64 from, i64 width, T* sums) {
  constexpr i64 w = lanes<T>;
  T part[rows_at_once][w];
  for (auto& row : part) std::fill_n(row, w, T(0));
  const T *p0 = p[0], *p1 = p[1], *p2 = p[2], *p3 = p[3];
  const T m0 = mine[0], m1 = mine[1], m2 = mine[2], m3 = mine[3];
  i64 c = from;
  for (; c + w <= width; c += w)
    for (i64 l = 0; l < w; ++l) {
      const T a = p0[c + l], b = p1[c + l], d = p2[c + l], e = p3[c + l], v = x[c + l];
      part[0][l] = part[0][l] + a * v;
      part[1][l] = part[1][l] + b * v;
      part[2][l] = part[2][l] + d * v;
      part[3][l] = part[3][l] + e * v;
      y[c + l] = y[c + l] + ((a * m0 + b * m1) + (d * m2 + e * m3));
    }
  for (i64 r = 0; r < rows_at_once; ++r) {
    for (i64 l = 0; l < w; ++l) sums[r] = sums[r] + part[r][l];
    for (i64 k = c; k < width; ++k) {
      sums[r] = sums[r] + p[r][k] * x[k];
      y[k] = y[k] + p[r][k] * mine[r];
    }
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
    for (i64 k = 0; k < rows; ++k)
      for (i64 c = r + k + 1; c < corner; ++c) {
        sums[k] = sums[k] + p[k][c] * x[c];
        y[c] = y[c] + p[k][c] * mine[k];
      }
    if (whole) four_rows(p, x, mine, y, corner, width, sums);
    for (i64 k = 0; k < rows; ++k) y[r + k] = y[r + k] + sums[k];
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
      for (i64 k = t; k < count; k += tasks) {  // strips get shorter: dealt out in turn
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
    for (i64 t = 0; t < tasks; ++t) sum = sum + sums[static_cast<std::size_t>(t * n + i)];
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
