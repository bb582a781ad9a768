// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inverses of functions of angles and of hyperbolic ones, for float and double without a branch
// (see quick_math.hpp); arctan is beside tan. They take every number, infinities and NaN.
//   for (i64 i = 0; i < n; ++i) y[i] = quick::arcsin<fused>(x[i]);

#include "tessera/kernels/elementwise/math/quick_angles.hpp"
#include "tessera/kernels/elementwise/math/quick_log.hpp"

namespace tessera::quick {

TESSERA_INLINE double root(double x) { return __builtin_sqrt(x); }
TESSERA_INLINE float root(float x) { return __builtin_sqrtf(x); }

// arcsin(s) = s + s^3 terms(s^2) for s <= 1/2. `all`: beyond, 1 + x is x.
template <class R>
struct Inverse;
template <>
struct Inverse<double> {
  static constexpr double all = 0x1p60, ln2 = 0.69314718055994531;
  static constexpr double terms[] = {
      0x1.5555555555578p-3, 0x1.333333332df02p-4, 0x1.6db6db722c19fp-5, 0x1.f1c71a8b6470ep-6,
      0x1.6e8bdfebe6754p-6, 0x1.1c49ddadea18ep-6, 0x1.ca214b4686bf3p-7, 0x1.7577599eab301p-7,
      0x1.618bc1676cdddp-7, 0x1.e14d07b59b2cep-9, 0x1.6506007b34d64p-6, -0x1.59fbc4e0e0a10p-6,
      0x1.0be5ef7717d91p-5};
};
template <>
struct Inverse<float> {
  static constexpr float all = 0x1p30f, ln2 = 0.693147181f;
  static constexpr float terms[] = {0.1666665985f,  0.07500512172f, 0.04451546115f,
                                    0.03181990954f, 0.01439345196f, 0.03757865915f};
};

// With s the sine of an angle up to a sixth of a half turn: |x|, or for larger x that of half the
// angle to x = 1. The angle is s + rest.
template <class R>
struct HalfAngle {
  typename Format<R>::Bits large;
  R s, rest;
};
template <bool fused, class R>
TESSERA_INLINE HalfAngle<R> half_angle(R x) {
  const R size = size_of_number(x);
  const auto large = mask<R>(size > R(0.5));
  const R z = choose<R>(large, (1 - size) * R(0.5), size * size);
  const R s = choose<R>(large, root(z), size);
  return {large, s, s * z * polynomial<fused>(Inverse<R>::terms, z)};
}
template <bool fused, class R>
TESSERA_INLINE R arcsin(R x) {
  using A = Arc<R>;
  const HalfAngle<R> h = half_angle<fused>(x);
  const R from_quarter = A::quarter - (2 * h.s + (2 * h.rest - A::quarter_low));
  return with_sign(choose<R>(h.large, from_quarter, h.s + h.rest), x);
}
template <bool fused, class R>
TESSERA_INLINE R arccos(R x) {
  using A = Arc<R>;
  const HalfAngle<R> h = half_angle<fused>(x);
  const R s = product_of_signs(h.s, x), rest = product_of_signs(h.rest, x);
  const R from_quarter = A::quarter - (s + (rest - A::quarter_low));
  const R from_half = 2 * A::quarter - (2 * h.s + (2 * h.rest - 2 * A::quarter_low));
  const R at_ends = choose<R>(mask<R>(x < 0), from_half, 2 * (h.s + h.rest));
  return choose<R>(h.large, at_ends, from_quarter);
}

// log(1 + u), or of large x that of 2 x.
template <bool fused, class R>
TESSERA_INLINE R log_of_sum(R x, R u) {
  using I = Inverse<R>;
  const auto large = mask<R>(x > I::all);
  return log1p<fused>(choose<R>(large, x, u)) + from_bits<R>(bits(I::ln2) & large);
}
template <bool fused, class R>
TESSERA_INLINE R arcsinh(R x) {
  const R size = size_of_number(x), z = size * size;
  const R u = size + z / (1 + root(1 + z));
  return with_sign(log_of_sum<fused>(size, u), x);
}
template <bool fused, class R>
TESSERA_INLINE R arccosh(R x) {
  const R t = x - 1, y = log_of_sum<fused>(x, t + root(t * (x + 1)));
  return choose<R>(mask<R>(x < 1), std::numeric_limits<R>::quiet_NaN(), y);
}
template <bool fused, class R>
TESSERA_INLINE R arctanh(R x) {
  const R size = size_of_number(x), y = log1p<fused>(2 * size / (1 - size));
  return product_of_signs(R(0.5) * y, x);
}

}  // namespace tessera::quick
