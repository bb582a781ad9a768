// SPDX-License-Identifier: Apache-2.0
#pragma once
// The passes of which transforms of lines are made: over registers of columns, over dense lines, and
// over lines so short that one pass does them. Private to the cpu's FFT.
//   pass<16, false>(8, roots, n / 8, 1, registers, turns, Source<float, 16, false>{...}, Buffer<float, 16>{...});
//
// Note [passes of registers]: a line of n points is n/r lines of r points (a pass), times turns,
// and then r lines of n/r points, which lie interleaved where the pass puts its results (Stockham's
// order: nothing is ever permuted). So the second pass on finds r neighbours that are treated
// alike. The first pass over columns finds columns; over a dense line it works on neighbours that
// need different turns, and transposes its results in registers, for which their number has to be
// one of whole registers.

#include <vector>

#include "tessera/kernels/fft/line_walks.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

// Each use is a function of its own, compiled for what the processor has. Narrow registers hold what is
// left over from wide ones: where products and sums are fused in these they are fused in those, so that
// the bits of a line do not depend on how many are beside it.
template <int bytes, class F>
[[gnu::noinline]] void on_registers(const F& f) {
#if defined(__x86_64__)
  if constexpr (bytes > 16)
    return host_instructions() == Instructions::avx512 ? run_avx512(f) : run_avx2(f);
  if (host_instructions() != Instructions::base) return run_avx2(f);
#endif
  f();
}

// Radix * m points of s neighbours, `registers` each. A last pass (m = 1) has no turns.
template <int bytes, class R, int Radix, bool Last, class In, class Out>
TESSERA_INLINE void pass_of(i64 m, i64 s, i64 registers, const R* __restrict turns, const In& in,
                            const Out& out) {
  for (i64 p = 0; p < m; ++p, turns += 2 * (Radix - 1))
    for (i64 q = 0; q < s; ++q)
      for (i64 v = 0; v < registers; ++v) {
        Split<R, bytes> x[Radix];
        auto from = in.walk(q + s * p, v, s * m);
#pragma GCC unroll 8
        for (int k = 0; k < Radix; ++k) x[k] = from.get();
        transform(x);
        if constexpr (!Last) {
#pragma GCC unroll 8
          for (int k = 1; k < Radix; ++k)
            x[k] = x[k] * split_number<bytes>(turns[2 * k - 2], turns[2 * k - 1]);
        }
        auto to = out.walk(q + s * Radix * p, v, s);
#pragma GCC unroll 8
        for (int k = 0; k < Radix; ++k) to.put(x[k]);
      }
}

// The same for an odd number of points that is known at run time only; `roots` are cos and sin of 2 pi
// j / radix. As transform() of split.hpp does it.
template <int bytes, class R, bool Last, class In, class Out>
TESSERA_INLINE void odd_pass_of(int radix, const R* __restrict roots, i64 m, i64 s, i64 registers,
                                const R* __restrict turns, const In& in, const Out& out) {
  const int half = radix / 2;
  Split<R, bytes> x[largest_factor], sum[largest_factor / 2], difference[largest_factor / 2];
  for (i64 p = 0; p < m; ++p, turns += 2 * (radix - 1))
    for (i64 q = 0; q < s; ++q)
      for (i64 v = 0; v < registers; ++v) {
        auto from = in.walk(q + s * p, v, s * m);
        Split<R, bytes> all = x[0] = from.get();
        for (int k = 1; k < radix; ++k) x[k] = from.get();
        for (int j = 0; j < half; ++j) {
          sum[j] = x[j + 1] + x[radix - 1 - j];
          difference[j] = times_minus_i(x[j + 1] - x[radix - 1 - j]);
          all = all + sum[j];
        }
        for (int k = 1; k <= half; ++k) {
          Split<R, bytes> even = x[0], odd = {};
          for (int j = 0, at = k; j < half; ++j) {
            even = even + scaled(sum[j], in_all_lanes<bytes>(roots[2 * at]));
            odd = odd + scaled(difference[j], in_all_lanes<bytes>(roots[2 * at + 1]));
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
            to.put(x[k] * split_number<bytes>(turns[2 * k - 2], turns[2 * k - 1]));
      }
}

// The first pass over dense lines, one in each of `registers`.
template <int bytes, class R, int Radix, class In>
TESSERA_INLINE void line_pass_of(i64 m, i64 registers, const R* __restrict turns, const In& in,
                                 R* out) {
  constexpr int width = lanes<R, bytes>;
  const i64 steps = (m + width - 1) / width;
  for (i64 b = 0; b < steps; ++b, turns += 2 * width * (Radix - 1)) {
    const i64 p = first_of_step(b, m, width);
    for (i64 v = 0; v < registers; ++v) {
      Split<R, bytes> x[Radix];
      auto from = in.walk(p, v, m);
#pragma GCC unroll 8
      for (int k = 0; k < Radix; ++k) x[k] = from.get();
      transform(x);
#pragma GCC unroll 8
      for (int k = 1; k < Radix; ++k)
        x[k] = x[k] * load_blocked<bytes>(turns + (k - 1) * 2 * width);
#pragma GCC unroll 8
      for (int k = 0; k < Radix; k += width) transpose(x + k);
      const i64 unit = 2 * width * registers;
      R* to = out + p * (Radix / width) * unit + v * 2 * width;
#pragma GCC unroll 8
      for (int l = 0; l < width; ++l)
#pragma GCC unroll 4
        for (int k = 0; k < Radix; k += width, to += unit) store_blocked(to, x[k + l]);
    }
  }
}

// As many lines as a register has lanes, of as many points as one pass takes: elements that lie side
// by side fill registers, which are transposed. The last ones may have been among those before.
template <int bytes, class R, int Radix, bool Swap>
TESSERA_INLINE void short_lines_of(const R* from, i64 from_distance, R* to, i64 to_distance,
                                   R scale) {
  constexpr int width = lanes<R, bytes>, at_once = width / 2;
  Split<R, bytes> x[Radix];
#pragma GCC unroll 8
  for (int next = 0; next < Radix; next += at_once) {
    const int k = std::min(next, Radix - at_once);
    Register<R, bytes> r[width];
#pragma GCC unroll 8
    for (int l = 0; l < width; ++l) r[l] = load_register<bytes>(from + l * from_distance + 2 * k);
    transpose(r);
#pragma GCC unroll 4
    for (int j = 0; j < at_once; ++j)
      x[k + j] =
          Swap ? Split<R, bytes>{r[2 * j + 1], r[2 * j]} : Split<R, bytes>{r[2 * j], r[2 * j + 1]};
  }
  transform(x);
  const Register<R, bytes> factor = in_all_lanes<bytes>(scale);
#pragma GCC unroll 8
  for (int next = 0; next < Radix; next += at_once) {
    const int k = std::min(next, Radix - at_once);
    Register<R, bytes> r[width];
#pragma GCC unroll 4
    for (int j = 0; j < at_once; ++j) {
      const Split<R, bytes> z = scaled(x[k + j], factor);
      r[2 * j] = Swap ? z.im : z.re;
      r[2 * j + 1] = Swap ? z.re : z.im;
    }
    transpose(r);
#pragma GCC unroll 8
    for (int l = 0; l < width; ++l) store_register<R, bytes>(to + l * to_distance + 2 * k, r[l]);
  }
}

// Points of the shortest lines that fill registers of so many bytes.
template <class R, int bytes>
inline constexpr int shortest_line = std::max(2, lanes<R, bytes> / 2);

template <int bytes, bool Swap, int Radix, class R>
void short_lines(i64 points, const R* from, i64 from_distance, R* to, i64 to_distance, R scale) {
  if (points == Radix)
    on_registers<bytes>([=] {
      short_lines_of<bytes, R, Radix, Swap>(from, from_distance, to, to_distance, scale);
    });
  else if constexpr (Radix < longest_pass)
    short_lines<bytes, Swap, Radix + 1>(points, from, from_distance, to, to_distance, scale);
}

template <int bytes, int Radix, class R, class In>
void line_pass(i64 m, i64 registers, const R* turns, const In& in, R* out) {
  on_registers<bytes>([=] { line_pass_of<bytes, R, Radix>(m, registers, turns, in, out); });
}

template <int bytes, bool Last, class R, class In, class Out>
void odd_pass(int radix, const R* roots, i64 m, i64 s, i64 registers, const R* turns, const In& in,
              const Out& out) {
  on_registers<bytes>(
      [=] { odd_pass_of<bytes, R, Last>(radix, roots, m, s, registers, turns, in, out); });
}

template <int bytes, bool Last, class R, class In, class Out>
void pass(int radix, const std::vector<R>& roots, i64 m, i64 s, i64 registers, const R* turns,
          const In& in, const Out& out) {
  auto of = [&]<int Radix>() {
    on_registers<bytes>([=] { pass_of<bytes, R, Radix, Last>(m, s, registers, turns, in, out); });
  };
  switch (radix) {
    case 2: return of.template operator()<2>();
    case 3: return of.template operator()<3>();
    case 4: return of.template operator()<4>();
    case 5: return of.template operator()<5>();
    case 7: return of.template operator()<7>();
    case 8: return of.template operator()<8>();
    case 11: return of.template operator()<11>();
    case 13: return of.template operator()<13>();
    default: return odd_pass<bytes, Last>(radix, roots.data(), m, s, registers, turns, in, out);
  }
}

}  // namespace tessera
