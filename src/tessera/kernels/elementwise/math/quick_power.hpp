// SPDX-License-Identifier: Apache-2.0
#pragma once
// Powers and roots of float and double without a branch (see quick_math.hpp). float is computed in
// double and rounded.
//   if (quick::is_power(x, y)) z = quick::pow<fused>(x, y);

#include "tessera/kernels/elementwise/math/quick_exp.hpp"
#include "tessera/kernels/elementwise/math/quick_log.hpp"

namespace tessera::quick {

// The first half of a double: products of two such are exact.
TESSERA_INLINE double first_half(double x) {
  return from_bits<double>(bits(x) & 0xfffffffff8000000);
}

struct Sum {
  double high, low;
};

// log2 of a positive number in two parts, of which the first has half the bits; to 2^-66 of it.
template <bool fused>
TESSERA_INLINE Sum log2_in_parts(double x) {
  // 3/2 log(1 + f) = s (3 + s^2 + s^4 terms(s^2)) with s = f / (2 + f).
  static constexpr double terms[] = {
      0x1.3333333333333p-1, 0x1.b6db6db6db6a6p-2, 0x1.5555555559e01p-2,
      0x1.1745d1711b09bp-2, 0x1.d89d8c9d9d65bp-3, 0x1.9998ddcd08213p-3,
      0x1.6988b6bd433eap-3, 0x1.402f58be23e08p-3, 0x1.5260d080b21a3p-3};
  constexpr double scale_high = 0x1.ec709d8p-1, scale_low = 0x1.0e80ff5d27f05p-27;  // 2 / (3 ln 2)
  const Parts<double> p = parts_of_positive(x);
  const double f = p.f, inverse = 1 / (2 + f), s = f * inverse;
  const double s_high = first_half(s), sum_high = first_half(2 + f), sum_low = f - (sum_high - 2);
  const double s_low = inverse * ((f - s_high * sum_high) - s_high * sum_low);
  const double z = s * s, square = s_high * s_high;
  const double higher = mad<fused>(s_low, s_high + s, z * z * polynomial<fused>(terms, z));
  const double factor_high = first_half(3 + square + higher);
  const double factor_low = higher - ((factor_high - 3) - square);
  const double u = s_high * factor_high, v = mad<fused>(s_low, factor_high, factor_low * s);
  const double log_high = first_half(u + v), log_low = v - (log_high - u);
  const double product = scale_high * log_high;
  const double rest = mad<fused>(scale_low, log_high, log_low * (scale_high + scale_low));
  const double high = first_half((product + rest) + p.k);
  return {high, rest - ((high - p.k) - product)};
}

// Whether pow takes the arguments; of others, standards say what the power is.
template <class R>
TESSERA_INLINE bool is_power(R x, R y) {
  constexpr R largest = std::is_same_v<R, double> ? R(0x1p50) : R(0x1p22);
  const R size = size_of_number(x);
  return (size > 0) & (size <= std::numeric_limits<R>::max()) & (size_of_number(y) <= largest);
}

// Of a negative base: the sign of an odd power, NaN if y is not an integer.
template <class R>
TESSERA_INLINE R power_of_negative(R power, R x, R y) {
  const R shifted = y + Format<R>::to_integer;
  const auto odd = bits(shifted) << (8 * sizeof(R) - 1), below = mask<R>(x < 0);
  const R turned = from_bits<R>(bits(power) | (odd & below));
  const auto broken = below & mask<R>(shifted - Format<R>::to_integer != y);
  return choose<R>(broken, std::numeric_limits<R>::quiet_NaN(), turned);
}

template <bool fused>
TESSERA_INLINE double pow(double x, double y) {
  constexpr double ln2_high = 0x1.62e42f8p-1, ln2_low = 0x1.be8e7bcd5e4f2p-27;
  const Sum log = log2_in_parts<fused>(size_of_number(x));
  const double y_high = first_half(y), product = y_high * log.high;
  const double rest = mad<fused>(y - y_high, log.high, y * log.low), exponent = product + rest;
  const double shifted = exponent + Format<double>::to_integer;
  const double n = shifted - Format<double>::to_integer, part = (product - n) + rest;
  const double high = first_half(part), low = ((product - n) - high) + rest, u = high * ln2_high;
  const double v = mad<fused>(low, ln2_high + ln2_low, high * ln2_low);
  const double r = u + v, tail = v - (r - u);
  const double p = polynomial<fused>(Exponential<double>::terms, r);
  const double q = r + mad<fused>(r * r, p, mad<fused>(tail, r, tail));
  const double power = within(scaled<fused>(q, shifted), exponent, -1076., 1025.);
  return power_of_negative(power, x, y);
}
template <bool fused>
TESSERA_INLINE float pow(float x, float y) {
  const Parts<double> p = parts_of_normal<double>(size_of_number(x));
  const Series<double> s = log_series<fused>(p.f);
  const double log = p.k + (p.f - (s.half - s.rest)) * Exponential<double>::log2e;
  const double exponent = y * log, shifted = exponent + Format<double>::to_integer;
  const double r = (exponent - (shifted - Format<double>::to_integer)) * Exponential<double>::ln2;
  const double q = mad<fused>(r * r, polynomial<fused>(Exponential<double>::terms, r), r);
  const double power = (1 + q) * power_of_two<double>(bits(shifted));
  return power_of_negative(static_cast<float>(within(power, exponent, -200., 200.)), x, y);
}

// The mantissa of the root of |x|, for x = 2^(3 k) y a normal number.
struct Cube {
  double y, root, inverse;  // the inverse has fewer bits
  std::uint64_t k;
};
template <bool fused>
TESSERA_INLINE Cube cube_of(double x) {
  using F = Format<double>;
  static constexpr double inverse_terms[] = {
      // of the root of a mantissa
      0x1.ab856c8b4838ap+0, -0x1.2c417613cc7b2p+0, 0x1.64156323ad408p-1, -0x1.c516a0dcff198p-3,
      0x1.d46d132f8ed2bp-6};
  const std::uint64_t b = bits(x) & ~sign_bit<double>;
  const double e = from_bits<double>((b >> F::mantissa) + bits(F::to_integer)) -
                   (F::to_integer + static_cast<double>(F::bias));
  const double shifted = mad<fused>(e, 1. / 3, F::to_integer);
  const double j = mad<fused>(-3., shifted - F::to_integer, e);  // -1, 0 or 1
  constexpr std::uint64_t one = F::bias << F::mantissa;
  const double m = from_bits<double>((b & ((std::uint64_t(1) << F::mantissa) - 1)) | one);
  const double y = m * (1 + j * (0.75 + 0.25 * j));
  const double turn = 1 + j * (-0x1.dd68e9bbaedb3p-3 + j * 0x1.b744985853524p-6);
  const double i = turn * polynomial<fused>(inverse_terms, m), h = mad<fused>(-y * i, i * i, 1.);
  const double inverse = mad<fused>(i * h, mad<fused>(h, 2. / 9, 1. / 3), i);
  return {y, y * inverse * inverse, inverse, bits(shifted)};
}
template <bool fused>
TESSERA_INLINE double cbrt(double x) {
  using Limits = std::numeric_limits<double>;
  const double size = size_of_number(x);
  const std::uint64_t small = mask<double>(size < Limits::min());
  const Cube c = cube_of<fused>(choose<double>(small, size * 0x1p54, size));
  // One step of Newton's method; the cube of few bits is exact.
  const double high = from_bits<double>(bits(c.root) & 0xfffffff000000000), low = c.root - high;
  const double square = high * high, missing = (c.y - square * high) - 3 * square * low;
  const double error = missing - low * low * (3 * high + low);
  const double root = mad<fused>(error * c.inverse * (1. / 3), c.inverse, c.root);
  const double y = root * power_of_two<double>(c.k) * choose<double>(small, 0x1p-18, 1.);
  const std::uint64_t itself = mask<double>(size == 0) | mask<double>(!(size <= Limits::max()));
  return choose<double>(itself, x, with_sign(y, x));
}
template <bool fused>
TESSERA_INLINE float cbrt(float x) {
  const Cube c = cube_of<fused>(x);
  const float y = static_cast<float>(c.root * power_of_two<double>(c.k)), size = size_of_number(x);
  const std::uint32_t itself =
      mask<float>(size == 0) | mask<float>(!(size <= std::numeric_limits<float>::max()));
  return choose<float>(itself, x, with_sign(y, x));
}

// The root of a sum of squares, where is_length says that the squares are neither lost nor too
// large.
template <bool fused>
TESSERA_INLINE double hypot(double x, double y) {
  return __builtin_sqrt(mad<fused>(x, x, y * y));
}
template <bool fused>
TESSERA_INLINE float hypot(float x, float y) {
  const double a = x, b = y;
  return static_cast<float>(__builtin_sqrt(mad<fused>(a, a, b * b)));
}
TESSERA_INLINE bool is_length(double x, double y) {
  const double square = x * x + y * y;
  return ((square >= 1e-290) & (square <= 1e300)) | ((x == 0) & (y == 0));
}
TESSERA_INLINE bool is_length(float x, float y) {
  return size_of_number(x) + size_of_number(y) < std::numeric_limits<float>::infinity();
}

}  // namespace tessera::quick
