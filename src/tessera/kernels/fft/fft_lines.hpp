// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving lines of a strided array into a buffer in which each line is dense, and back, scaled.
// When the lines are neighbours in memory and their elements are not, this is a transposition, done
// in tiles so that every cache line is read once. Private to the cpu's FFT.
//   gather_lines(x, 512, 1, buffer, 520, 512, 8);   // eight columns of a 512 x 512 matrix

#include <cstring>

#include "tessera/base/scalar.hpp"

namespace tessera {

inline constexpr i64 line_tile = 8;

// buffer[l * distance + i] = from[i * step + l * inner]
template <class E>
void gather_lines(const E* from, i64 step, i64 inner, E* buffer, i64 distance, i64 points,
                  i64 lines) {
  if (step == 1) {
    for (i64 l = 0; l < lines; ++l)
      std::memcpy(buffer + l * distance, from + l * inner,
                  static_cast<std::size_t>(points) * sizeof(E));
    return;
  }
  i64 i = 0;
  for (; i + line_tile <= points; i += line_tile)
    for (i64 l = 0; l < lines; ++l) {
      E* const to = buffer + l * distance + i;
      const E* const source = from + i * step + l * inner;
      for (i64 t = 0; t < line_tile; ++t) to[t] = source[t * step];
    }
  for (; i < points; ++i)
    for (i64 l = 0; l < lines; ++l) buffer[l * distance + i] = from[i * step + l * inner];
}

template <class R>
Complex<R> scaled(const Complex<R>& z, R s) {
  return {z.re * s, z.im * s};
}
inline float scaled(float x, float s) { return x * s; }
inline double scaled(double x, double s) { return x * s; }

template <class E>
struct RealOf {
  using type = E;
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
};

template <class E>
void scale_line(E* line, i64 points, double scale) {
  if (scale == 1) return;
  const auto s = static_cast<typename RealOf<E>::type>(scale);
  for (i64 i = 0; i < points; ++i) line[i] = scaled(line[i], s);
}

// to[i * step + l * inner] = scale * buffer[l * distance + i]; the buffer is scaled where it lies.
template <class E>
void scatter_lines(E* buffer, i64 distance, E* to, i64 step, i64 inner, i64 points, i64 lines,
                   double scale) {
  for (i64 l = 0; l < lines; ++l) scale_line(buffer + l * distance, points, scale);
  if (step == 1) {
    for (i64 l = 0; l < lines; ++l)
      std::memcpy(to + l * inner, buffer + l * distance,
                  static_cast<std::size_t>(points) * sizeof(E));
    return;
  }
  i64 i = 0;
  for (; i + line_tile <= points; i += line_tile)
    for (i64 l = 0; l < lines; ++l) {
      const E* const source = buffer + l * distance + i;
      E* const out = to + i * step + l * inner;
      for (i64 t = 0; t < line_tile; ++t) out[t * step] = source[t];
    }
  for (; i < points; ++i)
    for (i64 l = 0; l < lines; ++l) to[i * step + l * inner] = buffer[l * distance + i];
}

}  // namespace tessera
