// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving lines of a strided array into a buffer in which each line is dense, and back, scaled.
// When the lines are neighbours in memory and their elements are not, this is a transposition, done
// in tiles so that every cache line is read once. Private to the cpu's FFT.
//   gather_lines(x, 512, 1, buffer, 520, 512, 8);   // eight columns of a 512 x 512 matrix

#include <cstring>

#include "tessera/base/real_of.hpp"

namespace tessera {

inline constexpr i64 line_tile = 8;

// Two elements of eight bytes in one register; may start at any element.
typedef std::uint64_t Pair64 __attribute__((vector_size(16), aligned(8), may_alias));

// to[c * to_step + r] = from[r * from_step + c] for elements of eight bytes, in blocks of 2 x 2.
inline void transpose64(const void* from, i64 from_step, void* to, i64 to_step, i64 rows,
                        i64 columns) {
  const auto* const source = static_cast<const std::uint64_t*>(from);
  auto* const target = static_cast<std::uint64_t*>(to);
  for (i64 r = 0; r + 2 <= rows; r += 2)
    for (i64 c = 0; c + 2 <= columns; c += 2) {
      const std::uint64_t* const s = source + r * from_step + c;
      std::uint64_t* const t = target + c * to_step + r;
      const Pair64 a = *reinterpret_cast<const Pair64*>(s),
                   b = *reinterpret_cast<const Pair64*>(s + from_step);
      *reinterpret_cast<Pair64*>(t) = Pair64{a[0], b[0]};
      *reinterpret_cast<Pair64*>(t + to_step) = Pair64{a[1], b[1]};
    }
}

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
  if (sizeof(E) == 8 && inner == 1 && lines % 2 == 0) {
    i = points / 2 * 2;
    transpose64(from, step, buffer, distance, i, lines);
  }
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
  if (sizeof(E) == 8 && inner == 1 && lines % 2 == 0) {
    i = points / 2 * 2;
    for (i64 r = 0; r < i; r += 2)  // two rows of the target at a time
      transpose64(buffer + r, distance, to + r * step, step, lines, 2);
  }
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
