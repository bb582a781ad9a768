// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes of which transforms of lines are made: over registers of columns, over dense lines, and
// over lines so short that one pass does them. Private to the cpu's FFT.
//   pass<false>(8, roots, n / 8, 1, registers, turns, Source<float, false>{...}, Buffer<float>{...});
//
// Note [passes of registers]: a line of n points is n/r lines of r points (a pass), times turns,
// and then r lines of n/r points, which lie interleaved where the pass puts its results (Stockham's
// order: nothing is ever permuted). So the second pass on finds r neighbours that are treated
// alike. The first pass over columns finds columns; over a dense line it works on neighbours that
// need different turns, and transposes its results in registers, for which their number has to be
// one of whole registers.

#include <vector>

#include "tessera/kernels/fft/line_walks.hpp"

namespace tessera {

inline constexpr int largest_factor = 61;  // beyond it a convolution is quicker (chirp_lines.hpp)
inline constexpr int longest_pass = 15;    // lines of up to so many points are one pass

// Radix * m points of s neighbours, `registers` each. A last pass (m = 1) has no turns.
template <class R, int Radix, bool Last, class In, class Out>
[[gnu::noinline]] void pass(i64 m, i64 s, i64 registers, const R* __restrict turns, const In in,
                            const Out out) {
  for (i64 p = 0; p < m; ++p, turns += 2 * (Radix - 1))
    for (i64 q = 0; q < s; ++q)
      for (i64 v = 0; v < registers; ++v) {
        Split<R> x[Radix];
        auto from = in.walk(q + s * p, v, s * m);
#pragma GCC unroll 8
        for (int k = 0; k < Radix; ++k) x[k] = from.get();
        transform(x);
        if constexpr (!Last) {
#pragma GCC unroll 8
          for (int k = 1; k < Radix; ++k)
            x[k] = x[k] * Split<R>{in_all_lanes(turns[2 * k - 2]), in_all_lanes(turns[2 * k - 1])};
        }
        auto to = out.walk(q + s * Radix * p, v, s);
#pragma GCC unroll 8
        for (int k = 0; k < Radix; ++k) to.put(x[k]);
      }
}

// The same for an odd number of points that is known at run time only; `roots` are cos and sin of 2 pi
// j / radix. As transform() of split.hpp does it.
template <class R, bool Last, class In, class Out>
[[gnu::noinline]] void odd_pass(int radix, const R* __restrict roots, i64 m, i64 s, i64 registers,
                                const R* __restrict turns, const In in, const Out out) {
  const int half = radix / 2;
  Split<R> x[largest_factor], sum[largest_factor / 2], difference[largest_factor / 2];
  for (i64 p = 0; p < m; ++p, turns += 2 * (radix - 1))
    for (i64 q = 0; q < s; ++q)
      for (i64 v = 0; v < registers; ++v) {
        auto from = in.walk(q + s * p, v, s * m);
        for (int k = 0; k < radix; ++k) x[k] = from.get();
        Split<R> all = x[0];
        for (int j = 0; j < half; ++j) {
          sum[j] = x[j + 1] + x[radix - 1 - j];
          difference[j] = times_minus_i(x[j + 1] - x[radix - 1 - j]);
          all = all + sum[j];
        }
        for (int k = 1; k <= half; ++k) {
          Split<R> even = x[0], odd = {};
          for (int j = 0, at = k; j < half; ++j) {
            even = even + sum[j] * in_all_lanes(roots[2 * at]);
            odd = odd + difference[j] * in_all_lanes(roots[2 * at + 1]);
            at += k;
            if (at >= radix) at -= radix;
          }
          x[k] = even + odd;
          x[radix - k] = even - odd;
        }
        x[0] = all;
        auto to = out.walk(q + s * radix * p, v, s);
        to.put(x[0]);
        for (int k = 1; k < radix; ++k)
          if constexpr (Last)
            to.put(x[k]);
          else
            to.put(x[k] * Split<R>{in_all_lanes(turns[2 * k - 2]), in_all_lanes(turns[2 * k - 1])});
      }
}

// Where a first pass over a dense line of Radix * m points has the registers of its step b: the last
// one may begin before the one before it has ended, and writes the same once more.
template <class R>
i64 first_of_step(i64 b, i64 m) {
  return std::min<i64>(b * lanes<R>, m - lanes<R>);
}

// The first pass over dense lines, one in each of `registers`.
template <class R, int Radix, class In>
[[gnu::noinline]] void line_pass(i64 m, i64 registers, const R* __restrict turns, const In in,
                                 R* out) {
  constexpr int width = lanes<R>;
  const i64 steps = (m + width - 1) / width;
  for (i64 b = 0; b < steps; ++b, turns += 2 * width * (Radix - 1)) {
    const i64 p = first_of_step<R>(b, m);
    for (i64 v = 0; v < registers; ++v) {
      Split<R> x[Radix];
      auto from = in.walk(p, v, m);
#pragma GCC unroll 8
      for (int k = 0; k < Radix; ++k) x[k] = from.get();
      transform(x);
#pragma GCC unroll 8
      for (int k = 1; k < Radix; ++k) x[k] = x[k] * load_blocked(turns + (k - 1) * 2 * width);
#pragma GCC unroll 8
      for (int k = 0; k < Radix; k += width) transpose(x + k);
      const i64 unit = 2 * width * registers;
      R* to = out + p * (Radix / width) * unit + v * 2 * width;
#pragma GCC unroll 4
      for (int l = 0; l < width; ++l)
#pragma GCC unroll 4
        for (int k = 0; k < Radix; k += width, to += unit) store_blocked(to, x[k + l]);
    }
  }
}

// As many lines as a register has lanes, of as many points as one pass takes: elements that lie side
// by side fill registers, which are transposed.
template <class R, int Radix, bool Swap>
[[gnu::noinline]] void short_lines(const R* from, i64 from_distance, R* to, i64 to_distance,
                                   R scale) {
  constexpr int width = lanes<R>, at_once = width / 2, whole = Radix / at_once * at_once;
  Split<R> x[Radix];
  const LaneSource<R, false> rest_in{from, from_distance, width};
  const LaneTarget<R, false> rest_out{to, to_distance, width, R(1)};
#pragma GCC unroll 8
  for (int k = 0; k < whole; k += at_once) {
    Register<R> r[width];
#pragma GCC unroll 4
    for (int l = 0; l < width; ++l) r[l] = load_register(from + l * from_distance + 2 * k);
    transpose(r);
#pragma GCC unroll 2
    for (int j = 0; j < at_once; ++j)
      x[k + j] = Swap ? Split<R>{r[2 * j + 1], r[2 * j]} : Split<R>{r[2 * j], r[2 * j + 1]};
  }
  if constexpr (whole < Radix) {
    const Split<R> last = rest_in.walk(whole, 0, 1).get();
    x[whole] = Swap ? swapped(last) : last;
  }
  transform(x);
  const Register<R> factor = in_all_lanes(scale);
#pragma GCC unroll 8
  for (int k = 0; k < whole; k += at_once) {
    Register<R> r[width];
#pragma GCC unroll 2
    for (int j = 0; j < at_once; ++j) {
      const Split<R> z = x[k + j] * factor;
      r[2 * j] = Swap ? z.im : z.re;
      r[2 * j + 1] = Swap ? z.re : z.im;
    }
    transpose(r);
#pragma GCC unroll 4
    for (int l = 0; l < width; ++l) store_register<R>(to + l * to_distance + 2 * k, r[l]);
  }
  if constexpr (whole < Radix) {
    const Split<R> last = x[whole] * factor;
    rest_out.walk(whole, 0, 1).put(Swap ? swapped(last) : last);
  }
}

template <class R, bool Swap, int Radix = 2>
void short_lines(i64 points, const R* from, i64 from_distance, R* to, i64 to_distance, R scale) {
  if (points == Radix)
    short_lines<R, Radix, Swap>(from, from_distance, to, to_distance, scale);
  else if constexpr (Radix < longest_pass)
    short_lines<R, Swap, Radix + 1>(points, from, from_distance, to, to_distance, scale);
}

template <bool Last, class R, class In, class Out>
void pass(int radix, const std::vector<R>& roots, i64 m, i64 s, i64 registers, const R* turns,
          const In& in, const Out& out) {
  switch (radix) {
    case 2: return pass<R, 2, Last>(m, s, registers, turns, in, out);
    case 3: return pass<R, 3, Last>(m, s, registers, turns, in, out);
    case 4: return pass<R, 4, Last>(m, s, registers, turns, in, out);
    case 5: return pass<R, 5, Last>(m, s, registers, turns, in, out);
    case 7: return pass<R, 7, Last>(m, s, registers, turns, in, out);
    case 8: return pass<R, 8, Last>(m, s, registers, turns, in, out);
    case 11: return pass<R, 11, Last>(m, s, registers, turns, in, out);
    case 13: return pass<R, 13, Last>(m, s, registers, turns, in, out);
    default: return odd_pass<R, Last>(radix, roots.data(), m, s, registers, turns, in, out);
  }
}

}  // namespace tessera
