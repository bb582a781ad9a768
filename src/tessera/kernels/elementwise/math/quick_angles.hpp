// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of angles and their inverses for float and double without a branch (see
// quick_math.hpp).
//   for (i64 i = 0; i < n; ++i) y[i] = quick::tan<fused>(x[i]);

#include <limits>

#include "tessera/kernels/elementwise/math/quick_math.hpp"

namespace tessera::quick {

// sin, cos and tan take |x| up to this, infinities and NaN. Beyond it, a quarter turn has too few
// bits here.
template <class R>
inline constexpr R angle_limit = std::is_same_v<R, double> ? R(0x1p24) : R(0x1p22);

// |x| is q quarter turns and r + tail; q is in the lowest bits of `turns`.
template <class R>
struct Turned {
  typename Format<R>::Bits turns;
  R r, tail;
};
// Of float by fused steps: r to one unit in the last place.
TESSERA_INLINE Turned<float> quarter_turns_of_float(float x) {
  const float size = size_of_number(x);
  const float shifted = mad<true>(size, 0.636619772f, Format<float>::to_integer);
  const float q = shifted - Format<float>::to_integer, first = mad<true>(-q, 0x1.921fb6p0f, size);
  const float second = mad<true>(-q, -0x1.777a5cp-25f, first);
  return {bits(shifted), mad<true>(-q, -0x1.ee59dap-50f, second), 0};
}
template <bool fused, class R>
TESSERA_INLINE Turned<R> quarter_turns(R x) {
  constexpr double high = 0x1.921fb54p0, middle = 0x1.10b4611p-30, low = 0x1.4c4c6628b80dcp-59;
  const double size = size_of_number(x);
  const double shifted = mad<fused>(size, 0.63661977236758134308, Format<double>::to_integer);
  const double q = shifted - Format<double>::to_integer, first = mad<fused>(-q, high, size);
  const auto turns = static_cast<typename Format<R>::Bits>(bits(shifted));
  if constexpr (std::is_same_v<R, float>) {
    return {turns, static_cast<float>(mad<fused>(-q, middle + low, first)), 0};
  } else {
    const double second = q * middle, near = first - second;
    const double rest = mad<fused>(-q, low, (first - near) - second), r = near + rest;
    return {turns, r, (near - r) + rest};
  }
}

template <bool fused, class R>
TESSERA_INLINE Circle<R> circle_within_eighth(Turned<R> t) {
  using F = Format<R>;
  const R z = t.r * t.r, h = R(0.5) * z, w = 1 - h;
  const R sine = polynomial<fused>(F::sin_terms, z), cosine = polynomial<fused>(F::cos_terms, z);
  if constexpr (std::is_same_v<R, float>) {
    return {mad<fused>(t.r * z, sine, t.r), w + mad<fused>(z * z, cosine, (1 - w) - h)};
  } else {
    const R near = mad<fused>(z * z, cosine, -(t.r * t.tail));
    return {t.r + mad<fused>(t.r * z, sine, t.tail * w), w + (((1 - w) - h) + near)};
  }
}

template <class R>
TESSERA_INLINE R turned_sign(R x, typename Format<R>::Bits turns) {
  return from_bits<R>(bits(x) ^ (turns & 2) << (8 * sizeof(R) - 2));
}
template <class R>
TESSERA_INLINE R product_of_signs(R x, R of) {
  return from_bits<R>(bits(x) ^ (bits(of) & sign_bit<R>));
}

template <bool fused, class R>
TESSERA_INLINE Circle<R> sin_and_cos(R x) {
  const Turned<R> t = [x] {
    if constexpr (fused && std::is_same_v<R, float>)
      return quarter_turns_of_float(x);
    else
      return quarter_turns<fused>(x);
  }();
  const Circle<R> at = circle_within_eighth<fused>(t);
  const auto odd = 0 - (t.turns & 1);
  return {product_of_signs(turned_sign(choose<R>(odd, at.cos, at.sin), t.turns), x),
          turned_sign(choose<R>(odd, at.sin, at.cos), t.turns + 1)};
}
template <bool fused, class R>
TESSERA_INLINE R sin(R x) {
  return sin_and_cos<fused>(x).sin;
}
template <bool fused, class R>
TESSERA_INLINE R cos(R x) {
  return sin_and_cos<fused>(x).cos;
}
template <bool fused, class R>
TESSERA_INLINE R tan(R x) {
  const Turned<R> t = quarter_turns<fused>(x);
  const Circle<R> at = circle_within_eighth<fused>(t);
  const auto odd = 0 - (t.turns & 1);
  const R y = choose<R>(odd, at.cos, at.sin) / choose<R>(odd, at.sin, at.cos);
  return product_of_signs(from_bits<R>(bits(y) ^ (odd & sign_bit<R>)), x);
}

// arctan(t) = t - t^3 terms(t^2) for |t| <= tan(pi / 8).
template <class R>
struct Arc;
template <>
struct Arc<double> {
  static constexpr double quarter = 0x1.921fb54442d18p0, quarter_low = 0x1.1a62633145c07p-54;
  static constexpr double terms[] = {
      0x1.5555555555555p-2, -0x1.9999999999970p-3, 0x1.2492492490a37p-3, -0x1.c71c71c60e160p-4,
      0x1.745d1712a0478p-4, -0x1.3b13aafd1895dp-4, 0x1.11108d087c12fp-4, -0x1.e1d2a7191979ap-5,
      0x1.ae892eb0c857dp-5, -0x1.817b732de0d0ep-5, 0x1.4c301f962188dp-5, -0x1.e51dd97611763p-6,
      0x1.a93dc2a211dfcp-7};
};
template <>
struct Arc<float> {
  static constexpr float quarter = 0x1.921fb4p0f, quarter_low = 0x1.4442d2p-24f;
  static constexpr float terms[] = {0.3333333251f,  -0.1999990475f, 0.1428202892f,
                                    -0.1104492223f, 0.08477403f,    -0.04746107444f};
};

// The angle whose tangent is a / b, a and b not negative: from 0, an eighth or a quarter turn,
// whichever is nearest.
template <bool fused, class R>
TESSERA_INLINE R arctan_of_ratio(R a, R b) {
  using A = Arc<R>;
  const auto steep = mask<R>(a > R(2.414213562373095) * b);
  const auto middle = mask<R>(a > R(0.4142135623730951) * b);
  const R top = choose<R>(steep, -b, choose<R>(middle, a - b, a));
  const R bottom = choose<R>(steep, a, choose<R>(middle, a + b, b));
  const R t = top / bottom, z = t * t;
  const R from = choose<R>(steep, A::quarter, from_bits<R>(bits(A::quarter / 2) & middle));
  const R low = choose<R>(steep, A::quarter_low, from_bits<R>(bits(A::quarter_low / 2) & middle));
  return from + (t + mad<fused>(-(t * z), polynomial<fused>(A::terms, z), low));
}

template <bool fused, class R>
TESSERA_INLINE R arctan(R x) {
  return with_sign(arctan_of_ratio<fused>(size_of_number(x), R(1)), x);
}

// Where the sum of sizes is a positive number; see is_ratio.
template <bool fused, class R>
TESSERA_INLINE R arctan2(R y, R x) {
  using A = Arc<R>;
  const R angle = arctan_of_ratio<fused>(size_of_number(y), size_of_number(x));
  const R other = 2 * A::quarter - (angle - 2 * A::quarter_low);
  return with_sign(choose<R>(0 - (bits(x) >> (8 * sizeof(R) - 1)), other, angle), y);
}
template <class R>
TESSERA_INLINE bool is_ratio(R y, R x) {
  const R sum = size_of_number(y) + size_of_number(x);
  return (sum > 0) & (sum <= std::numeric_limits<R>::max());
}

}  // namespace tessera::quick
