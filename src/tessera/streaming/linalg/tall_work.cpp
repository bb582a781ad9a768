// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/tall_work.hpp"

#include <algorithm>

#include "tessera/base/dtype.hpp"
#include "tessera/base/real_of.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/streaming/linalg/reflections.hpp"

namespace tessera::streaming {
namespace {

template <class T>
bool is_negative(const T& x) {
  if constexpr (is_complex_v<T>)
    return x.re < 0;
  else
    return x < 0;
}

template <class T>
double abs2_of(const T& x) {
  if constexpr (is_complex_v<T>)
    return static_cast<double>(x.re) * static_cast<double>(x.re) +
           static_cast<double>(x.im) * static_cast<double>(x.im);
  else
    return static_cast<double>(x) * static_cast<double>(x);
}

// R from the upper triangle of a square by columns, with rows turned so that the diagonal is not
// negative; beside it those of `sides`, turned as well.
template <class T>
void copy_triangle(const T* square, i64 n, const T* sides, i64 columns, T* to) {
  for (i64 i = 0; i < n; ++i) {
    const bool turned = is_negative(square[i * n + i]);
    const auto put = [&](const T& x) { return turned ? T(0) - x : x; };
    T* row = to + i * (n + columns);
    std::fill_n(row, i, T(0));
    for (i64 j = i; j < n; ++j) row[j] = put(square[j * n + i]);
    for (i64 j = 0; j < columns; ++j) row[n + j] = put(sides[j * n + i]);
  }
}

template <class F>
void with_number(DType dtype, F&& f) {
  dispatch<float, double, c64, c128>(dtype, "qr", std::forward<F>(f));
}

std::byte* bytes_at(const Buffers& b, i64 buffer) { return b.at<std::byte>(buffer); }

}  // namespace

void TallWork::reduce_top(const Buffers& b) const {
  reflect_square(dtype, n, block, {bytes_at(b, square), n}, bytes_at(b, square_factors),
                 bytes_at(b, work));
}

void TallWork::reduce_panel(const Buffers& b, i64 rows, i64 panel, i64 factors) const {
  reflect_below(dtype, rows, n, block, {bytes_at(b, square), n}, {bytes_at(b, panel), rows},
                bytes_at(b, factors), bytes_at(b, work));
}

void TallWork::reduce_top_sides(const Buffers& b) const {
  apply_square(dtype, true, n, sides, block, {bytes_at(b, square), n}, bytes_at(b, square_factors),
               {bytes_at(b, side_top), n}, bytes_at(b, work));
  std::fill_n(b.at<double>(rest), sides, 0.0);
}

void TallWork::reduce_panel_sides(const Buffers& b, i64 rows, i64 panel, i64 factors,
                                  i64 side) const {
  apply_below(dtype, true, rows, n, sides, block, {bytes_at(b, panel), rows}, bytes_at(b, factors),
              {bytes_at(b, side_top), n}, {bytes_at(b, side), rows}, bytes_at(b, work));
  with_number(dtype, [&]<class T>() {
    const T* x = b.at<T>(side);
    for (i64 j = 0; j < sides; ++j)
      for (i64 i = 0; i < rows; ++i) b.at<double>(rest)[j] += abs2_of(x[j * rows + i]);
  });
}

Array TallWork::triangle(const Buffers& b) const {
  Array out = empty_dense({n, n}, dtype);
  with_number(dtype,
              [&]<class T>() { copy_triangle<T>(b.at<T>(square), n, nullptr, 0, out.host<T>()); });
  return out;
}

Array TallWork::system(const Buffers& b) const {
  Array out = empty_dense({n + 1, n + sides}, dtype);
  with_number(dtype, [&]<class T>() {
    T* to = out.host<T>();
    copy_triangle<T>(b.at<T>(square), n, b.at<T>(side_top), sides, to);
    T* last = to + n * (n + sides);
    std::fill_n(last, n, T(0));
    for (i64 j = 0; j < sides; ++j)
      last[n + j] = T(static_cast<typename RealOf<T>::type>(b.at<double>(rest)[j]));
  });
  return out;
}

void TallWork::begin_product(const Buffers& b, const Array& factor) const {
  with_number(dtype, [&]<class T>() {
    const T* diagonal = b.at<T>(square);
    const T* from = factor ? factor.host<T>() : nullptr;
    T* to = b.at<T>(start);
    for (i64 i = 0; i < n; ++i) {
      const bool turned = is_negative(diagonal[i * n + i]);
      for (i64 j = 0; j < n; ++j) {
        const T x = from ? from[i * n + j] : T(i == j ? 1 : 0);
        to[j * n + i] = turned ? T(0) - x : x;
      }
    }
  });
}

void TallWork::expand_panel(const Buffers& b, i64 rows, i64 panel, i64 factors, i64 out,
                            bool is_triangle) const {
  std::fill_n(bytes_at(b, out), rows * n * size_of(dtype), std::byte{0});
  const Columns reflections{bytes_at(b, panel), rows}, top{bytes_at(b, start), n},
      bottom{bytes_at(b, out), rows};
  if (is_triangle)
    apply_below_triangle(dtype, rows, n, block, reflections, bytes_at(b, factors), top, bottom,
                         bytes_at(b, work));
  else
    apply_below(dtype, false, rows, n, n, block, reflections, bytes_at(b, factors), top, bottom,
                bytes_at(b, work));
}

void TallWork::expand_top(const Buffers& b) const {
  apply_square(dtype, false, n, n, block, {bytes_at(b, square), n}, bytes_at(b, square_factors),
               {bytes_at(b, start), n}, bytes_at(b, work));
}

}  // namespace tessera::streaming
