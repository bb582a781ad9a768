// SPDX-License-Identifier: Apache-2.0
#pragma once
// The logarithms of float and double without a branch (see quick_math.hpp). They take every number,
// infinities and NaN.
//   for (i64 i = 0; i < n; ++i) y[i] = quick::log10<fused>(x[i]);

#include <limits>

#include "tessera/kernels/elementwise/math/quick_math.hpp"

namespace tessera::quick {

// 1 / ln b and, for b = 10, log 2 in two parts: the product of the first with few bits is exact.
template <class R>
struct Logarithm;
template <>
struct Logarithm<double> {
  static constexpr double subnormal = 0x1p54, steps = 54, tiny = 0x1p-54, no_rest = 0x1p60;
  static constexpr double log2e_high = 0x1.71547652p0, log2e_low = 0x1.705fc2eefa2p-33;
  static constexpr double log10e_high = 0x1.bcb7b152p-2, log10e_low = 0x1.b9438ca9aadd5p-36;
  static constexpr double log10_2_high = 0x1.34413509f7p-2, log10_2_low = 0x1.3fde623e2566bp-43;
  static constexpr std::uint64_t few_bits = 0xffffffff00000000;
};
template <>
struct Logarithm<float> {
  static constexpr float subnormal = 0x1p25f, steps = 25, tiny = 0x1p-25f, no_rest = 0x1p30f;
  static constexpr float log2e_high = 0x1.714p0f, log2e_low = 0x1.47652cp-12f;
  static constexpr float log10e_high = 0x1.bcap-2f, log10e_low = 0x1.7b1526p-14f;
  static constexpr float log10_2_high = 0x1.344p-2f, log10_2_low = 0x1.3509f8p-18f;
  static constexpr std::uint32_t few_bits = 0xfffff000;
};

// x = 2^k (1 + f), 1 + f between the root of a half and that of two; k_above is what is added to
// the exponents.
template <class R>
struct Parts {
  R k, f;
  typename Format<R>::Bits k_bits;
};
template <class R>
TESSERA_INLINE Parts<R> parts_of_normal(R x) {
  using F = Format<R>;
  using B = typename F::Bits;
  constexpr B above = F::bias + 1;  // keeps exponents positive
  const B b = bits(x), k_above = (b - F::root_of_half + (above << F::mantissa)) >> F::mantissa;
  const R k = from_bits<R>(k_above + bits(F::to_integer)) - (F::to_integer + R(above));
  const B k_bits = (k_above - above) << F::mantissa;
  return {k, from_bits<R>(b - k_bits) - 1, k_bits};
}
// Subnormal numbers as well.
template <class R>
TESSERA_INLINE Parts<R> parts_of_positive(R x) {
  using L = Logarithm<R>;
  const auto small = mask<R>(x < std::numeric_limits<R>::min());
  Parts<R> p = parts_of_normal(choose<R>(small, x * L::subnormal, x));
  p.k -= from_bits<R>(bits(L::steps) & small);
  return p;
}

// log(1 + f) = f - (half - rest).
template <class R>
struct Series {
  R half, rest;
};
template <bool fused, class R>
TESSERA_INLINE Series<R> log_series(R f) {
  const R s = f / (2 + f), z = s * s, half = R(0.5) * f * f;
  return {half, s * mad<fused>(z, polynomial<fused>(Format<R>::log_terms, z), half)};
}

// What every logarithm is outside the finite positive numbers; x is the argument's distance from
// the pole.
template <class R>
TESSERA_INLINE R at_edges(R y, R x) {
  using Limits = std::numeric_limits<R>;
  y = choose<R>(mask<R>(!(x <= Limits::max())), x, y);
  y = choose<R>(mask<R>(x == 0), -Limits::infinity(), y);
  return choose<R>(mask<R>(x < 0), Limits::quiet_NaN(), y);
}

template <bool fused, class R>
TESSERA_INLINE R log(R x) {
  using F = Format<R>;
  const Parts<R> p = parts_of_positive(x);
  const Series<R> s = log_series<fused>(p.f);
  const R small = s.half - mad<fused>(p.k, F::ln2_low, s.rest);
  return at_edges(mad<fused>(p.k, F::ln2_high, -(small - p.f)), x);
}

// log(1 + f) / ln b + y with y exact, by a high part of few bits.
template <bool fused, class R>
TESSERA_INLINE R log_in_base(R f, R y, R y_low, R high_part, R low_part) {
  const Series<R> s = log_series<fused>(f);
  const R high = from_bits<R>(bits(f - s.half) & Logarithm<R>::few_bits);
  const R low = ((f - high) - s.half) + s.rest;
  const R product = high * high_part, sum = y + product;
  const R rest = mad<fused>(low, high_part, mad<fused>(low + high, low_part, y_low));
  return sum + (rest + ((y - sum) + product));
}
template <bool fused, class R>
TESSERA_INLINE R log2(R x) {
  using L = Logarithm<R>;
  const Parts<R> p = parts_of_positive(x);
  return at_edges(log_in_base<fused>(p.f, p.k, R(0), L::log2e_high, L::log2e_low), x);
}
template <bool fused, class R>
TESSERA_INLINE R log10(R x) {
  using L = Logarithm<R>;
  const Parts<R> p = parts_of_positive(x);
  const R y = p.k * L::log10_2_high, low = p.k * L::log10_2_low;
  return at_edges(log_in_base<fused>(p.f, y, low, L::log10e_high, L::log10e_low), x);
}

template <bool fused, class R>
TESSERA_INLINE R log1p(R x) {
  using F = Format<R>;
  using L = Logarithm<R>;
  const R u = 1 + x, added = u - 1, lost = (1 - (u - added)) + (x - added);
  const Parts<R> p = parts_of_normal(u);
  const Series<R> s = log_series<fused>(p.f);
  // What 1 + x lost, over it: the first terms of 1 / (1 + f) are enough.
  const R scale = from_bits<R>((F::bias << F::mantissa) - p.k_bits);
  const R share = lost * from_bits<R>(bits(scale) & mask<R>(x < L::no_rest));
  const R rest = share * mad<fused>(p.f, p.f - 1, R(1));
  const R small = s.half - (s.rest + mad<fused>(p.k, F::ln2_low, rest));
  const R y = at_edges(mad<fused>(p.k, F::ln2_high, -(small - p.f)), u);
  return choose<R>(mask<R>(size_of_number(x) < L::tiny), x, y);
}

}  // namespace tessera::quick
