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

// Where passes read and write: register v of point i. Swap: parts in each other's place.
template <class R, bool Swap>
struct Source {
  const R* at;
  i64 step;
  TESSERA_INLINE Split<R> get(i64 i, i64 v) const {
    const Split<R> z = load_split(at + i * step + v * 2 * lanes<R>);
    if constexpr (Swap)
      return swapped(z);
    else
      return z;
  }
};
template <class R, bool Swap>
struct Target {
  R* at;
  i64 step;
  R scale;
  TESSERA_INLINE void put(i64 i, i64 v, const Split<R>& z) const {
    const Split<R> s = z * in_all_lanes(scale);
    R* const p = at + i * step + v * 2 * lanes<R>;
    if constexpr (Swap)
      store_split(p, swapped(s));
    else
      store_split(p, s);
  }
};
template <class R>
struct Buffer {
  R* at;
  i64 step;
  TESSERA_INLINE Split<R> get(i64 i, i64 v) const {
    return load_blocked(at + i * step + v * 2 * lanes<R>);
  }
  TESSERA_INLINE void put(i64 i, i64 v, const Split<R>& z) const {
    store_blocked(at + i * step + v * 2 * lanes<R>, z);
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
  TESSERA_INLINE void put(i64 i, i64 v, const Split<R>& z) const {
    const W* const w = weight + i * weight_step;
    if constexpr (std::is_same_v<W, R>) {
      const Register<R> factor = Same ? in_all_lanes(*w) : load_register(w + v * lanes<R>);
      buffer.put(i, v, swapped(z * factor));
    } else {
      Split<R> factor;
      if constexpr (Same)
        factor = {in_all_lanes(w->re), in_all_lanes(w->im)};
      else
        factor = load_split(reinterpret_cast<const R*>(w + v * lanes<R>));
      factor.im *= sign;
      buffer.put(i, v, swapped(z * factor));
    }
  }
};

// Radix * m points of s neighbours, `registers` each. The turns are those of the results of every
// p > 0; a last pass (m = 1) has none.
template <class R, int Radix, class In, class Out>
[[gnu::noinline]] void pass(i64 m, i64 s, i64 registers, const R* turns, const In in,
                            const Out out) {
  for (i64 p = 0; p < m; ++p, turns += 2 * (Radix - 1))
    for (i64 q = 0; q < s; ++q)
      for (i64 v = 0; v < registers; ++v) {
        Split<R> x[Radix];
#pragma GCC unroll 8
        for (int k = 0; k < Radix; ++k) x[k] = in.get(q + s * (p + m * k), v);
        transform(x);
        if (m > 1) {
#pragma GCC unroll 8
          for (int k = 1; k < Radix; ++k)
            x[k] = x[k] * Split<R>{in_all_lanes(turns[2 * k - 2]), in_all_lanes(turns[2 * k - 1])};
        }
#pragma GCC unroll 8
        for (int k = 0; k < Radix; ++k) out.put(q + s * (Radix * p + k), v, x[k]);
      }
}

// The first pass over a dense line.
template <class R, int Radix, class In>
[[gnu::noinline]] void line_pass(i64 m, const R* turns, const In in, R* out) {
  constexpr int width = lanes<R>;
  for (i64 p = 0; p < m; p += width, turns += 2 * width * (Radix - 1)) {
    Split<R> x[Radix];
#pragma GCC unroll 8
    for (int k = 0; k < Radix; ++k) x[k] = in.get(0, (p + m * k) / width);
    transform(x);
#pragma GCC unroll 8
    for (int k = 1; k < Radix; ++k) x[k] = x[k] * load_blocked(turns + (k - 1) * 2 * width);
#pragma GCC unroll 4
    for (int k = 0; k < Radix; k += width) {
      transpose(x + k);
#pragma GCC unroll 4
      for (int l = 0; l < width; ++l) store_blocked(out + 2 * ((p + l) * Radix + k), x[k + l]);
    }
  }
}

template <class R, class In, class Out>
void pass(int radix, i64 m, i64 s, i64 registers, const R* turns, const In& in, const Out& out) {
  if (radix == 8)
    pass<R, 8>(m, s, registers, turns, in, out);
  else
    pass<R, 4>(m, s, registers, turns, in, out);
}

// exp(-2 pi i p k / n), exact at the corners.
std::array<double, 2> turn(i64 pk, i64 n) {
  const i64 eighth = 8 * (pk % n) / n;
  const double rest = 2 * std::numbers::pi *
                      static_cast<double>(pk % n - (eighth + 1) / 2 * n / 4) /
                      static_cast<double>(n);
  const double c = std::cos(rest), s = -std::sin(rest);
  switch ((eighth + 1) / 2 % 4) {
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
    pass(radices_[i], n, step * registers, 1, turns_[i].data(), Buffer<R>{a, width},
         Buffer<R>{b, width});
    std::swap(a, b);
    step *= radices_[i];
  }
  pass(radices_.back(), 1, step, registers, static_cast<const R*>(nullptr),
       Buffer<R>{a, width * registers}, out(b));
  return b;
}

template <class R>
template <class In, class Out>
R* PowerLines<R>::run_columns(i64 registers, const In& in, const Out& out, R* a, R* b) const {
  pass(radices_[0], points_ / radices_[0], 1, registers, turns_[0].data(), in,
       Buffer<R>{a, 2 * lanes<R> * registers});
  return rest(radices_[0], registers, out, a, b);
}

template <class R>
void PowerLines<R>::line(const C* from, C* to, int sign, R scale, R* scratch) const {
  R* const other = scratch + 2 * points_;
  auto run = [&]<bool Swap>() {
    const Source<R, Swap> in{reinterpret_cast<const R*>(from), 0};
    const i64 m = points_ / radices_[0];
    if (radices_[0] == 8)
      line_pass<R, 8>(m, line_turns_.data(), in, scratch);
    else
      line_pass<R, 4>(m, line_turns_.data(), in, scratch);
    rest(
        radices_[0] / lanes<R>, 1,
        [&](R*) {
          return Target<R, Swap>{reinterpret_cast<R*>(to), 2 * lanes<R>, scale};
        },
        scratch, other);
  };
  sign < 0 ? run.template operator()<false>() : run.template operator()<true>();
}

template <class R>
void PowerLines<R>::columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign,
                            R scale, R* scratch) const {
  auto run = [&]<bool Swap>() {
    run_columns(
        count / column_step, Source<R, Swap>{reinterpret_cast<const R*>(from), 2 * from_step},
        [&](R*) {
          return Target<R, Swap>{reinterpret_cast<R*>(to), 2 * to_step, scale};
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
  const Source<R, Swap> in{reinterpret_cast<const R*>(from), 2 * from_step};
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
        return Target<R, !Swap>{reinterpret_cast<R*>(to), 2 * to_step, scale};
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
  static std::mutex mutex;
  static std::array<std::weak_ptr<const PowerLines<R>>, 64> known;
  std::lock_guard lock(mutex);
  std::weak_ptr<const PowerLines<R>>& slot =
      known[std::countr_zero(static_cast<std::uint64_t>(points))];
  std::shared_ptr<const PowerLines<R>> found = slot.lock();
  if (!found) slot = found = std::make_shared<const PowerLines<R>>(points);
  return found;
}
template TESSERA_API std::shared_ptr<const PowerLines<float>> power_lines(i64 points);
template TESSERA_API std::shared_ptr<const PowerLines<double>> power_lines(i64 points);

}  // namespace tessera
