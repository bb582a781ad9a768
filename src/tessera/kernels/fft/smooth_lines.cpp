// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/smooth_lines.hpp"

#include <map>
#include <mutex>

#include "tessera/base/error.hpp"
#include "tessera/kernels/fft/line_plan.hpp"
#include "tessera/kernels/fft/register_passes.hpp"
#include "tessera/kernels/fft/turns.hpp"

namespace tessera {

template <class R>
std::vector<int> SmoothLines<R>::radices_of(i64 points) {
  if (points >= 2 && points <= longest_pass) return {static_cast<int>(points)};
  std::vector<int> radices;
  i64 odd = points, two = 1;
  for (; odd > 0 && odd % 2 == 0; odd /= 2) two *= 2;
  // Eights while more than a four is left over, and fours: 32 is 8 * 4, 128 is 8 * 4 * 4.
  for (; two > 1; two /= radices.back())
    radices.push_back(two == 2 ? 2 : two % 8 == 0 && two != 16 ? 8 : 4);
  for (int radix = 3; odd > 1 && radix <= largest_factor; radix += 2)
    for (; odd % radix == 0; odd /= radix) radices.push_back(radix);
  if (odd != 1) radices.clear();
  return radices;
}

template <class R>
SmoothLines<R>::SmoothLines(i64 points) : points_(points), radices_(radices_of(points)) {
  require<ArgumentError>(!radices_.empty(), "fft: no passes for ", points, " points");
  for (int radix : radices_) {
    std::vector<R>& roots = roots_.emplace_back();
    for (int j = 0; radix > longest_pass && j < radix; ++j) {
      const auto [re, im] = root_of_unity(j, radix);
      roots.insert(roots.end(), {static_cast<R>(re), static_cast<R>(-im)});
    }
  }
  i64 n = points;
  for (std::size_t i = 0; i + 1 < radices_.size(); ++i) {
    const int radix = radices_[i];
    std::vector<R>& t = turns_.emplace_back();
    for (i64 p = 0; p < n / radix; ++p)
      for (int k = 1; k < radix; ++k)
        for (double part : root_of_unity(p * k, n)) t.push_back(static_cast<R>(part));
    n /= radix;
  }
  const int radix = radices_[0];
  const i64 m = points / radix;
  dense_ = points > longest_pass && radices_.size() > 1 && radix % lanes<R> == 0 && m >= lanes<R>;
  for (i64 b = 0; dense_ && b * lanes<R> < m; ++b)
    for (int k = 1; k < radix; ++k)
      for (std::size_t part : {0, 1})
        for (int l = 0; l < lanes<R>; ++l)
          line_turns_.push_back(
              static_cast<R>(root_of_unity((first_of_step<R>(b, m) + l) * k, points)[part]));
}

// All passes but the first, whose results are in `a`. Gives the buffer that is not read last.
template <class R>
template <class Out>
R* SmoothLines<R>::rest(i64 step, i64 registers, const Out& out, R* a, R* b) const {
  i64 n = points_ / radices_[0];
  const i64 width = 2 * lanes<R>;
  for (std::size_t i = 1; i + 1 < radices_.size(); ++i) {
    n /= radices_[i];
    pass<false>(radices_[i], roots_[i], n, step * registers, 1, turns_[i].data(),
                Buffer<R>{a, width}, Buffer<R>{b, width});
    std::swap(a, b);
    step *= radices_[i];
  }
  pass<true>(radices_.back(), roots_.back(), 1, step, registers, static_cast<const R*>(nullptr),
             Buffer<R>{a, width * registers}, out(b));
  return b;
}

template <class R>
template <class In, class Out>
R* SmoothLines<R>::run_columns(i64 registers, const In& in, const Out& out, R* a, R* b) const {
  pass<false>(radices_[0], roots_[0], points_ / radices_[0], 1, registers, turns_[0].data(), in,
              Buffer<R>{a, 2 * lanes<R> * registers});
  return rest(radices_[0], registers, out, a, b);
}

template <class R>
template <bool Swap>
void SmoothLines<R>::run_lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance,
                               R scale, R* scratch) const {
  const R* const x = reinterpret_cast<const R*>(from);
  R* const y = reinterpret_cast<R*>(to);
  if (points_ <= longest_pass) {
    if (count == column_step)
      return short_lines<R, Swap>(points_, x, 2 * from_distance, y, 2 * to_distance, scale);
    // Fewer lines than lanes, through a copy of as many.
    const i64 line = 2 * points_;
    R copy[2 * longest_pass * column_step] = {};
    for (i64 l = 0; l < count; ++l) std::copy_n(x + 2 * l * from_distance, line, copy + l * line);
    short_lines<R, Swap>(points_, copy, line, copy, line, scale);
    for (i64 l = 0; l < count; ++l) std::copy_n(copy + l * line, line, y + 2 * l * to_distance);
    return;
  }
  if (!dense_) {
    const LaneSource<R, Swap> in{x, 2 * from_distance, count};
    const LaneTarget<R, Swap> out{y, 2 * to_distance, count, scale};
    if (radices_.size() == 1)
      return odd_pass<R, true>(radices_[0], roots_[0].data(), 1, 1, 1,
                               static_cast<const R*>(nullptr), in, out);
    run_columns(
        1, in, [&](R*) { return out; }, scratch, scratch + 2 * points_ * column_step);
    return;
  }
  const Source<R, Swap> in{x, 2, 2 * from_distance};
  const Target<R, Swap> out{y, 2 * column_step, 2 * to_distance, scale};
  const i64 m = points_ / radices_[0];
  if (radices_[0] == 8)
    line_pass<R, 8>(m, count, line_turns_.data(), in, scratch);
  else if (radices_[0] == 4)
    line_pass<R, 4>(m, count, line_turns_.data(), in, scratch);
  else if constexpr (lanes<R> == 2)
    line_pass<R, 2>(m, count, line_turns_.data(), in, scratch);
  rest(
      radices_[0] / column_step, count, [&](R*) { return out; }, scratch,
      scratch + 2 * points_ * count);
}

template <class R>
void SmoothLines<R>::lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance,
                           int sign, R scale, R* scratch) const {
  if (sign < 0)
    run_lines<false>(count, from, from_distance, to, to_distance, scale, scratch);
  else
    run_lines<true>(count, from, from_distance, to, to_distance, scale, scratch);
}

template <class R>
void SmoothLines<R>::columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign,
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
void SmoothLines<R>::run_filter(i64 registers, const C* from, i64 from_step,
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
void SmoothLines<R>::filter_columns(i64 count, const C* from, i64 from_step,
                                    const ColumnWeight<R>& weight, C* to, i64 to_step, int sign,
                                    R scale, R* scratch) const {
  const i64 registers = count / column_step;
  if (sign < 0)
    run_filter<false>(registers, from, from_step, weight, to, to_step, scale, scratch);
  else
    run_filter<true>(registers, from, from_step, weight, to, to_step, scale, scratch);
}

template class SmoothLines<float>;
template class SmoothLines<double>;

bool uses_smooth_lines(i64 points) {
  return !fftw_plans() && points <= 4096 && SmoothLines<float>::has_columns(points);
}

template <class R>
std::shared_ptr<const SmoothLines<R>> smooth_lines(i64 points) {
  // Those of ordinary lengths are kept for good: eager calls would make the turns anew each time.
  if (points > 4096) return std::make_shared<const SmoothLines<R>>(points);
  struct Known {
    std::mutex mutex;
    std::map<i64, std::shared_ptr<const SmoothLines<R>>> of;
  };
  static Known* known = new Known;  // leaked: outlives every transform
  std::lock_guard lock(known->mutex);
  std::shared_ptr<const SmoothLines<R>>& slot = known->of[points];
  if (!slot) slot = std::make_shared<const SmoothLines<R>>(points);
  return slot;
}
template TESSERA_API std::shared_ptr<const SmoothLines<float>> smooth_lines(i64 points);
template TESSERA_API std::shared_ptr<const SmoothLines<double>> smooth_lines(i64 points);

}  // namespace tessera
