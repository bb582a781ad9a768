// SPDX-License-Identifier: Apache-2.0
#pragma once
// What register_lines.hpp declares, for the files that instantiate it.

#include "tessera/kernels/fft/register_lines.hpp"
#include "tessera/kernels/fft/register_passes.hpp"

namespace tessera {

// All passes but the first, whose results are in `a`. Gives the buffer that is not read last.
template <class R, int bytes>
template <class Out>
R* RegisterLines<R, bytes>::rest(i64 step, i64 registers, const Out& out, R* a, R* b) const {
  const LineTables<R>& t = tables;
  i64 n = t.points / t.radices[0];
  for (std::size_t i = 1; i + 1 < t.radices.size(); ++i) {
    n /= t.radices[i];
    pass<bytes, false>(t.radices[i], t.roots[i], n, step * registers, 1, t.turns[i].data(),
                       Buffer<R, bytes>{a, 2 * width}, Buffer<R, bytes>{b, 2 * width});
    std::swap(a, b);
    step *= t.radices[i];
  }
  pass<bytes, true>(t.radices.back(), t.roots.back(), 1, step, registers,
                    static_cast<const R*>(nullptr), Buffer<R, bytes>{a, 2 * width * registers},
                    out(b));
  return b;
}

template <class R, int bytes>
template <class In, class Out>
R* RegisterLines<R, bytes>::run_columns(i64 registers, const In& in, const Out& out, R* a,
                                        R* b) const {
  const LineTables<R>& t = tables;
  pass<bytes, false>(t.radices[0], t.roots[0], t.points / t.radices[0], 1, registers,
                     t.turns[0].data(), in, Buffer<R, bytes>{a, 2 * width * registers});
  return rest(t.radices[0], registers, out, a, b);
}

template <class R, int bytes>
template <bool Swap>
void RegisterLines<R, bytes>::run_dense(i64 count, const R* x, i64 from_distance, R* y,
                                        i64 to_distance, R scale, R* scratch) const {
  const Source<R, bytes, Swap> in{x, 2, from_distance};
  const Target<R, bytes, Swap> out{y, 2 * width, to_distance, scale};
  const int radix = tables.radices[0];
  const i64 m = tables.points / radix;
  const R* const turns = tables.line_turns.data();
  if (radix == 8)
    line_pass<bytes, 8>(m, count, turns, in, scratch);
  else if constexpr (width <= 4) {
    if (radix == 4)
      line_pass<bytes, 4>(m, count, turns, in, scratch);
    else if constexpr (width == 2)
      line_pass<bytes, 2>(m, count, turns, in, scratch);
  }
  rest(
      radix / width, count, [&](R*) { return out; }, scratch, scratch + 2 * tables.points * count);
}

template <class R, int bytes>
template <bool Swap>
void RegisterLines<R, bytes>::run_short(i64 count, const R* x, i64 from_distance, R* y,
                                        i64 to_distance, R scale) const {
  constexpr int shortest = shortest_line<R, bytes>;
  const i64 points = tables.points, line = 2 * points;
  if (count == width)
    return short_lines<bytes, Swap, shortest>(points, x, from_distance, y, to_distance, scale);
  // Fewer lines than lanes, through a copy of as many.
  R copy[2 * longest_pass * width] = {};
  for (i64 l = 0; l < count; ++l) std::copy_n(x + l * from_distance, line, copy + l * line);
  short_lines<bytes, Swap, shortest>(points, copy, line, copy, line, scale);
  for (i64 l = 0; l < count; ++l) std::copy_n(copy + l * line, line, y + l * to_distance);
}

template <class R, int bytes>
template <bool Swap>
void RegisterLines<R, bytes>::run_lanes(i64 count, const R* x, i64 from_distance, R* y,
                                        i64 to_distance, R scale, R* scratch) const {
  if (tables.points <= longest_pass)
    return run_short<Swap>(count, x, from_distance, y, to_distance, scale);
  const LaneSource<R, bytes, Swap> in{x, from_distance, count};
  const LaneTarget<R, bytes, Swap> out{y, to_distance, count, scale};
  if (tables.radices.size() == 1)
    return odd_pass<bytes, true>(tables.radices[0], tables.roots[0].data(), 1, 1, 1,
                                 static_cast<const R*>(nullptr), in, out);
  run_columns(
      1, in, [&](R*) { return out; }, scratch, scratch + 2 * tables.points * width);
}

template <class R, int bytes>
void RegisterLines<R, bytes>::dense_lines(i64 count, const C* from, i64 from_distance, C* to,
                                          i64 to_distance, int sign, R scale, R* scratch) const {
  const R* const x = reinterpret_cast<const R*>(from);
  R* const y = reinterpret_cast<R*>(to);
  if (sign < 0)
    run_dense<false>(count, x, 2 * from_distance, y, 2 * to_distance, scale, scratch);
  else
    run_dense<true>(count, x, 2 * from_distance, y, 2 * to_distance, scale, scratch);
}

template <class R, int bytes>
void RegisterLines<R, bytes>::lines_in_lanes(i64 count, const C* from, i64 from_distance, C* to,
                                             i64 to_distance, int sign, R scale, R* scratch) const {
  const R* const x = reinterpret_cast<const R*>(from);
  R* const y = reinterpret_cast<R*>(to);
  if (sign < 0)
    run_lanes<false>(count, x, 2 * from_distance, y, 2 * to_distance, scale, scratch);
  else
    run_lanes<true>(count, x, 2 * from_distance, y, 2 * to_distance, scale, scratch);
}

template <class R, int bytes>
void RegisterLines<R, bytes>::columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step,
                                      int sign, R scale, R* scratch) const {
  auto run = [&]<bool Swap>() {
    run_columns(
        count / width,
        Source<R, bytes, Swap>{reinterpret_cast<const R*>(from), 2 * from_step, 2 * width},
        [&](R*) {
          return Target<R, bytes, Swap>{reinterpret_cast<R*>(to), 2 * to_step, 2 * width, scale};
        },
        scratch, scratch + 2 * tables.points * count);
  };
  sign < 0 ? run.template operator()<false>() : run.template operator()<true>();
}

template <class R, int bytes>
template <bool Swap>
void RegisterLines<R, bytes>::run_filter(i64 registers, const C* from, i64 from_step,
                                         const ColumnWeight<R>& weight, C* to, i64 to_step, R scale,
                                         R* scratch) const {
  R* const other = scratch + 2 * tables.points * registers * width;
  const i64 step = 2 * width * registers;
  const Source<R, bytes, Swap> in{reinterpret_cast<const R*>(from), 2 * from_step, 2 * width};
  R* filled = nullptr;
  auto there = [&]<class W, bool Same>(const W* w) {
    filled = run_columns(
        registers, in,
        [&](R* b) {
          return Weighted<R, bytes, W, Same>{{b, step}, w, weight.step, R(Swap ? -1 : 1)};
        },
        scratch, other);
  };
  if (weight.real)
    weight.inner ? there.template operator()<R, false>(weight.real)
                 : there.template operator()<R, true>(weight.real);
  else
    weight.inner ? there.template operator()<C, false>(weight.complex)
                 : there.template operator()<C, true>(weight.complex);
  run_columns(
      registers, Buffer<R, bytes>{filled, step},
      [&](R*) {
        return Target<R, bytes, !Swap>{reinterpret_cast<R*>(to), 2 * to_step, 2 * width, scale};
      },
      filled == scratch ? other : scratch, filled);
}

template <class R, int bytes>
void RegisterLines<R, bytes>::filter_columns(i64 count, const C* from, i64 from_step,
                                             const ColumnWeight<R>& weight, C* to, i64 to_step,
                                             int sign, R scale, R* scratch) const {
  const i64 registers = count / width;
  if (sign < 0)
    run_filter<false>(registers, from, from_step, weight, to, to_step, scale, scratch);
  else
    run_filter<true>(registers, from, from_step, weight, to, to_step, scale, scratch);
}

}  // namespace tessera
