// SPDX-License-Identifier: Apache-2.0
// Note [passes of registers]: a line of n points is n/r lines of r points (a pass), times turns,
// and then r lines of n/r points, which lie interleaved where the pass puts its results (Stockham's
// order: nothing is ever permuted). So the second pass on finds r neighbours that are treated
// alike. The first pass over columns finds columns; over a dense line it works on neighbours that
// need different turns, and transposes its results in registers.
#include "tessera/kernels/fft/power_lines.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>

#include "tessera/base/error.hpp"
#include "tessera/kernels/fft/split.hpp"

namespace tessera {
namespace {

// Where passes read and write. walk(i, v, by): register v of point i, then of point i + by, ...
// Swap: parts in each other's place.
template <class R, bool Swap>
struct Source {
  const R* at;
  i64 step, next;  // from point to point, from register to register
  struct Walk {
    const R* p;
    i64 by;
    TESSERA_INLINE Split<R> get() {
      const Split<R> z = load_split(p);
      p += by;
      if constexpr (Swap)
        return swapped(z);
      else
        return z;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {at + i * step + v * next, by * step};
  }
};
template <class R, bool Swap>
struct Target {
  R* at;
  i64 step, next;
  R scale;
  struct Walk {
    R* p;
    i64 by;
    Register<R> scale;
    TESSERA_INLINE void put(const Split<R>& z) {
      const Split<R> s = z * scale;
      if constexpr (Swap)
        store_split(p, swapped(s));
      else
        store_split(p, s);
      p += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {at + i * step + v * next, by * step, in_all_lanes(scale)};
  }
};
template <class R>
struct Buffer {
  R* at;
  i64 step;
  struct Walk {
    R* p;
    i64 by;
    TESSERA_INLINE Split<R> get() {
      const Split<R> z = load_blocked(p);
      p += by;
      return z;
    }
    TESSERA_INLINE void put(const Split<R>& z) {
      store_blocked(p, z);
      p += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {at + i * step + v * 2 * lanes<R>, by * step};
  }
};
// A buffer whose points are multiplied by a weight on their way in, and turned for the way back:
// the transform that follows is the inverse, of swapped parts. After a backward transform they are
// swapped already: swapped(z) * w is swapped(z * conj(w)).
template <class R, class W, bool Same>
struct Weighted {
  Buffer<R> buffer;
  const W* weight;
  i64 weight_step;
  R sign;  // of the weight's imaginary part
  struct Walk {
    typename Buffer<R>::Walk to;
    const W* w;
    i64 by;
    R sign;
    TESSERA_INLINE void put(const Split<R>& z) {
      if constexpr (std::is_same_v<W, R>) {
        const Register<R> factor = Same ? in_all_lanes(*w) : load_register(w);
        to.put(swapped(z * factor));
      } else {
        Split<R> factor;
        if constexpr (Same)
          factor = {in_all_lanes(w->re), in_all_lanes(w->im)};
        else
          factor = load_split(reinterpret_cast<const R*>(w));
        factor.im *= sign;
        to.put(swapped(z * factor));
      }
      w += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {buffer.walk(i, v, by), weight + i * weight_step + (Same ? 0 : v * lanes<R>),
            by * weight_step, sign};
  }
};

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

// The first pass over dense lines, one in each of `registers`.
template <class R, int Radix, class In>
[[gnu::noinline]] void line_pass(i64 m, i64 registers, const R* __restrict turns, const In in,
                                 R* out) {
  constexpr int width = lanes<R>;
  for (i64 p = 0; p < m; p += width, turns += 2 * width * (Radix - 1))
    for (i64 v = 0; v < registers; ++v) {
      Split<R> x[Radix];
      auto from = in.walk(p / width, v, m / width);
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

template <bool Last, class R, class In, class Out>
void pass(int radix, i64 m, i64 s, i64 registers, const R* turns, const In& in, const Out& out) {
  if (radix == 8)
    pass<R, 8, Last>(m, s, registers, turns, in, out);
  else
    pass<R, 4, Last>(m, s, registers, turns, in, out);
}

// exp(-2 pi i p k / n), exact at the corners.
std::array<double, 2> turn(i64 pk, i64 n) {
  const i64 quarter = (8 * (pk % n) / n + 1) / 2;  // the nearest one
  const i64 past = pk % n - quarter * (n / 4);
  const double rest = 2 * std::numbers::pi * static_cast<double>(past) / static_cast<double>(n);
  const double c = std::cos(rest), s = -std::sin(rest);
  switch (quarter % 4) {
    case 0: return {c, s};
    case 1: return {s, -c};
    case 2: return {-c, -s};
    default: return {-s, c};
  }
}

}  // namespace

template <class R>
PowerLines<R>::PowerLines(i64 points) : points_(points) {
  require<ArgumentError>(has(points), "fft: no passes for ", points, " points");
  i64 n = points;
  // Eights while more than a four is left over, and fours: 32 is 8 * 4, 128 is 8 * 4 * 4.
  while (n > 1) {
    radices_.push_back(n % 8 == 0 && n != 16 ? 8 : 4);
    n /= radices_.back();
  }
  n = points;
  for (std::size_t i = 0; i + 1 < radices_.size(); ++i) {
    const int radix = radices_[i];
    std::vector<R>& t = turns_.emplace_back();
    for (i64 p = 0; p < n / radix; ++p)
      for (int k = 1; k < radix; ++k)
        for (double part : turn(p * k, n)) t.push_back(static_cast<R>(part));
    n /= radix;
  }
  const int radix = radices_[0];
  for (i64 p = 0; p < points / radix; p += lanes<R>)
    for (int k = 1; k < radix; ++k)
      for (std::size_t part : {0, 1})
        for (int l = 0; l < lanes<R>; ++l)
          line_turns_.push_back(static_cast<R>(turn((p + l) * k, points)[part]));
}

// All passes but the first, whose results are in `a`. Gives the buffer that is not read last.
template <class R>
template <class Out>
R* PowerLines<R>::rest(i64 step, i64 registers, const Out& out, R* a, R* b) const {
  i64 n = points_ / radices_[0];
  const i64 width = 2 * lanes<R>;
  for (std::size_t i = 1; i + 1 < radices_.size(); ++i) {
    n /= radices_[i];
    pass<false>(radices_[i], n, step * registers, 1, turns_[i].data(), Buffer<R>{a, width},
                Buffer<R>{b, width});
    std::swap(a, b);
    step *= radices_[i];
  }
  pass<true>(radices_.back(), 1, step, registers, static_cast<const R*>(nullptr),
             Buffer<R>{a, width * registers}, out(b));
  return b;
}

template <class R>
template <class In, class Out>
R* PowerLines<R>::run_columns(i64 registers, const In& in, const Out& out, R* a, R* b) const {
  pass<false>(radices_[0], points_ / radices_[0], 1, registers, turns_[0].data(), in,
              Buffer<R>{a, 2 * lanes<R> * registers});
  return rest(radices_[0], registers, out, a, b);
}

template <class R>
void PowerLines<R>::lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance,
                          int sign, R scale, R* scratch) const {
  constexpr i64 width = 2 * column_step;
  auto run = [&]<bool Swap>() {
    const Source<R, Swap> in{reinterpret_cast<const R*>(from), width, 2 * from_distance};
    const Target<R, Swap> out{reinterpret_cast<R*>(to), width, 2 * to_distance, scale};
    const i64 m = points_ / radices_[0];
    if (radices_[0] == 8)
      line_pass<R, 8>(m, count, line_turns_.data(), in, scratch);
    else
      line_pass<R, 4>(m, count, line_turns_.data(), in, scratch);
    rest(
        radices_[0] / column_step, count, [&](R*) { return out; }, scratch,
        scratch + 2 * points_ * count);
  };
  sign < 0 ? run.template operator()<false>() : run.template operator()<true>();
}

template <class R>
void PowerLines<R>::columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign,
                            R scale, R* scratch) const {
  auto run = [&]<bool Swap>() {
    run_columns(
        count / column_step,
        Source<R, Swap>{reinterpret_cast<const R*>(from), 2 * from_step, 2 * column_step},
        [&](R*) {
          return Target<R, Swap>{reinterpret_cast<R*>(to), 2 * to_step, 2 * column_step, scale};
        },
        scratch, scratch + 2 * points_ * count);
  };
  sign < 0 ? run.template operator()<false>() : run.template operator()<true>();
}

template <class R>
template <bool Swap>
void PowerLines<R>::run_filter(i64 registers, const C* from, i64 from_step,
                               const ColumnWeight<R>& weight, C* to, i64 to_step, R scale,
                               R* scratch) const {
  R* const other = scratch + 2 * points_ * registers * lanes<R>;
  const i64 width = 2 * lanes<R> * registers;
  const Source<R, Swap> in{reinterpret_cast<const R*>(from), 2 * from_step, 2 * column_step};
  R* filled = nullptr;
  auto there = [&]<class W, bool Same>(const W* w) {
    filled = run_columns(
        registers, in,
        [&](R* b) {
          return Weighted<R, W, Same>{{b, width}, w, weight.step, R(Swap ? -1 : 1)};
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
      registers, Buffer<R>{filled, width},
      [&](R*) {
        return Target<R, !Swap>{reinterpret_cast<R*>(to), 2 * to_step, 2 * column_step, scale};
      },
      filled == scratch ? other : scratch, filled);
}

template <class R>
void PowerLines<R>::filter_columns(i64 count, const C* from, i64 from_step,
                                   const ColumnWeight<R>& weight, C* to, i64 to_step, int sign,
                                   R scale, R* scratch) const {
  const i64 registers = count / column_step;
  if (sign < 0)
    run_filter<false>(registers, from, from_step, weight, to, to_step, scale, scratch);
  else
    run_filter<true>(registers, from, from_step, weight, to, to_step, scale, scratch);
}

template class PowerLines<float>;
template class PowerLines<double>;

bool uses_power_lines([[maybe_unused]] i64 points) {
#if defined(__aarch64__)
  return PowerLines<float>::has(points);
#else
  return false;  // FFTW has code for wider registers
#endif
}

template <class R>
std::shared_ptr<const PowerLines<R>> power_lines(i64 points) {
  // Kept for good, 400 KiB for all lengths: eager calls would make the turns anew each time.
  struct Known {
    std::mutex mutex;
    std::array<std::shared_ptr<const PowerLines<R>>, 64> of;
  };
  static Known* known = new Known;  // leaked: outlives every transform
  std::lock_guard lock(known->mutex);
  std::shared_ptr<const PowerLines<R>>& slot =
      known->of[std::countr_zero(static_cast<std::uint64_t>(points))];
  if (!slot) slot = std::make_shared<const PowerLines<R>>(points);
  return slot;
}
template TESSERA_API std::shared_ptr<const PowerLines<float>> power_lines(i64 points);
template TESSERA_API std::shared_ptr<const PowerLines<double>> power_lines(i64 points);

}  // namespace tessera
