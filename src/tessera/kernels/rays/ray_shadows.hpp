// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over what shadows cover of rows of numbers. A register holds neighbouring shadows (of cells
// on a slab, or of voxels on the detector): they lie within two registers of the row, out of which
// each takes its numbers by a permutation. Shadows that are too wide for that look their numbers up
// one by one. Weights, and so results, are the same either way, on registers of any size. Private
// to the cpu's kernel.
//   with_taps<bytes, float>(width, [&]<int Taps>(i64 taps) {
//     take_shadows<Taps, G, bytes>(low, high, row, place, false, taps, sum); });

#include <bit>
#include <type_traits>

#include "tessera/kernels/rays/ray_images.hpp"
#include "tessera/kernels/wide_registers.hpp"

namespace tessera::rays {

inline constexpr i64 most_places = 64;  // that are found at a time

template <class R>
using Index = std::conditional_t<sizeof(R) == 4, std::int32_t, std::int64_t>;
// Added to a number, its last bits are those of the nearest integer.
template <class R>
inline constexpr R integers = sizeof(R) == 4 ? static_cast<R>(12582912)
                                             : static_cast<R>(6755399441055744);

// Whether numbers of two registers go where others say: not with what every x86-64 host has.
#if defined(__x86_64__)
template <int bytes>
inline constexpr bool has_permutations = bytes > 16;
#else
template <int bytes>
inline constexpr bool has_permutations = true;
#endif

// What G rows have in shadows from `low` to `high`, which count from the middle of the number at
// `place`: of the first shadow, or of the last where they go `down`. What is not met adds nothing,
// finite or not. Taps: the most numbers that a shadow meets, 0 where they are looked up.
template <int Taps, int G, int bytes, class R>
TESSERA_INLINE void take_shadows(const Register<R, bytes>& low, const Register<R, bytes>& high,
                                 const Row<const R>& row, i64 place, bool down, i64 taps,
                                 Register<R, bytes> (&sum)[G]) {
  using V = Register<R, bytes>;
  using I = Register<Index<R>, bytes>;
  constexpr int L = lanes<R, bytes>;
  constexpr bool permuted = Taps > 0 && has_permutations<bytes>;
  const V zero = {}, one = zero + R(1), half = zero + R(0.5);
  const V rounded = low + integers<R>, nearest = rounded - integers<R>;
  const V from = low - nearest, to = high - nearest;  // the number where a shadow begins: -0.5, 0.5
  const int shift = permuted && down ? 2 * L - 1 : 0;
  const R* window = row.first + place - shift;
  I at = std::bit_cast<I>(rounded) + static_cast<Index<R>>(shift);
  V tap = zero;
  i64 count = Taps;
  if constexpr (!permuted)
    at += static_cast<Index<R>>(place) - std::bit_cast<I>(zero + integers<R>);
  if constexpr (Taps == 0) {  // from the margin on, where shadows begin before it
    const I begin = at > I{} - 1 ? at : I{} - 1;
    tap = __builtin_convertvector(begin - at, V);
    at = begin;
    count = taps < row.size + 2 ? taps : row.size + 2;
  }
  for (int g = 0; g < G; ++g) sum[g] = zero;  // so that all products are fused alike, or none is
  for (i64 t = 0; t < count; ++t) {
    const V first = (to < half ? to : half) - from;
    V weight = to + (half - tap);
    weight = weight < one ? weight : one;
    if (Taps == 0)
      weight = tap == zero ? first : weight;
    else if (t == 0)
      weight = first;
    I found = at;
    if constexpr (Taps == 0)
      found =
          at < static_cast<Index<R>>(row.size) + I{} ? at : static_cast<Index<R>>(row.size) + I{};
    for (int g = 0; g < G; ++g) {
      V number;
      if constexpr (permuted) {
        const R* image = window + g * row.image;
        number =
            __builtin_shuffle(load_register<bytes>(image), load_register<bytes>(image + L), at);
      } else {
        for (int l = 0; l < L; ++l) number[l] = row.first[g * row.image + found[l]];
      }
      number = weight > zero ? number : zero;
      sum[g] += weight * number;
    }
    at += 1;
    tap += one;
  }
}

// The other way round, for numbers that are much narrower than what would be their shadows: each
// of a row adds to the one or two that it is covered by. Number i of the row lies from the line at i
// to the line at i + 1.
inline constexpr double narrow = 1.0 / 64;
template <int G, class R>
TESSERA_INLINE void spread_narrow(const SlabLine& line, const Row<const R>& row, const Row<R>& to) {
  const double size = static_cast<double>(to.size), per = 1 / std::fabs(line.slope);
  for (i64 i = 0; i < row.size; ++i) {
    const double a = line.base + line.slope * static_cast<double>(i), b = a + line.slope;
    const double low = a < b ? a : b, high = a < b ? b : a;
    if (!(high > 0 && low < size)) continue;
    for (double p = low > 0 ? std::floor(low) : 0; p < high && p < size; ++p) {
      const R weight = static_cast<R>(covered(low, high, p) * per);
      if (!(weight > 0)) continue;
      for (int g = 0; g < G; ++g)
        to.first[g * to.image + static_cast<i64>(p)] += weight * row.first[g * row.image + i];
    }
  }
}

// f<Taps>(taps) for shadows of at most this width, with room for what rounding adds to it.
template <int bytes, class R, class F>
TESSERA_INLINE void with_taps(double width, const F& f) {
  constexpr double L = lanes<R, bytes>, slack = 1e-4;
  if (L * width < 2 * L - 1 - slack)
    return width < 1 - slack ? f.template operator()<2>(i64{2}) : f.template operator()<3>(i64{3});
  f.template operator()<0>(static_cast<i64>(width * (1 + slack)) + 2);
}

// Of the line on `count` slabs (or at other points one apart), the first of them at `c`: the number
// of a row whose first is number `start`, and what the line is beyond its middle. Far away is far
// enough.
template <class R>
TESSERA_INLINE void find_places(const SlabLine& line, double c, i64 count, i64 start,
                                std::int32_t* place, R* beyond) {
  const double base = line.base, slope = line.slope, begin = static_cast<double>(start);
  constexpr double far = 1 << 30;
#pragma GCC ivdep
  for (i64 s = 0; s < count; ++s) {
    const double at = base + slope * (c + static_cast<double>(s)) - begin,
                 low = at > -far ? at : -far, middle = (low < far ? low : far) - 0.5;
    const double rounded = middle + integers<double>;
    place[s] = static_cast<std::int32_t>(std::bit_cast<std::int64_t>(rounded));
    beyond[s] = static_cast<R>(middle - (rounded - integers<double>));
  }
}

}  // namespace tessera::rays
