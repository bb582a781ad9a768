// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exponential functions of float and double without a branch (see quick_math.hpp). They take
// every number, infinities and NaN; the exponential of a subnormal result is rounded once.
//   for (i64 i = 0; i < n; ++i) y[i] = quick::exp<fused>(x[i]);

#include "tessera/kernels/elementwise/math/quick_math.hpp"

namespace tessera::quick {

// Series within half an octave, fitted so that the largest error is the smallest:
// exp(r) = 1 + r + r^2 terms(r), sinh(r) = r + r^3 odd(r^2), cosh(r) = 1 + r^2 even(r^2).
// `tiny`: below, sinh(x) and exp(x) - 1 are x.
template <class R>
struct Exponential;
template <>
struct Exponential<double> {
  static constexpr double overflow = 710, underflow = -746, log2e = 1.4426950408889634;
  static constexpr double ln2 = 0.69314718055994531, overflow_2 = 1025, underflow_2 = -1076;
  static constexpr double minus_one = -38, overflow_h = 711, one = 20;
  static constexpr double tiny = 0x1p-54, tiny_h = 0x1p-27;
  static constexpr double terms[] = {0x1p-1,
                                     0x1.555555555555cp-3,
                                     0x1.555555555555ep-5,
                                     0x1.111111110ebaap-7,
                                     0x1.6c16c16c13551p-10,
                                     0x1.a01a01b3c0163p-13,
                                     0x1.a01a01b466345p-16,
                                     0x1.71ddef846b3e1p-19,
                                     0x1.27e4bf0f6b1eap-22,
                                     0x1.af6cebadac519p-26,
                                     0x1.1f9e1e7f078cdp-29};
  static constexpr double odd[] = {0x1.5555555555559p-3, 0x1.111111110f699p-7,
                                   0x1.a01a01afeedcep-13, 0x1.71ddf8388f2cep-19,
                                   0x1.af5ef25db2aa1p-26};
  static constexpr double even[] = {0x1p-1,
                                    0x1.555555555555cp-5,
                                    0x1.6c16c16c13efdp-10,
                                    0x1.a01a01b18b230p-16,
                                    0x1.27e4c4e8c8ea9p-22,
                                    0x1.1f956b852aea0p-29};
};
template <>
struct Exponential<float> {
  static constexpr float overflow = 89, underflow = -104, log2e = 1.44269504f;
  static constexpr float ln2 = 0.693147181f, overflow_2 = 129, underflow_2 = -151;
  static constexpr float minus_one = -18, overflow_h = 90, one = 10;
  static constexpr float tiny = 0x1p-25f, tiny_h = 0x1p-12f;
  static constexpr float terms[] = {
      0.5f, 0.1666666686f, 0.04166626977f, 0.008333264548f, 0.001394609342f, 0.0001991829049f};
  static constexpr float odd[] = {0.1666666675f, 0.008333288887f, 0.0001990501033f};
  static constexpr float even[] = {0.5f, 0.04166666699f, 0.001388880715f, 2.488246191e-5f};
};

// x = n ln 2 + r + tail; n is in the lowest bits of `shifted`.
template <class R>
struct Octaves {
  R shifted, n, r, tail;
};
template <bool fused, class R>
TESSERA_INLINE Octaves<R> octaves(R x) {
  using F = Format<R>;
  const R shifted = mad<fused>(x, Exponential<R>::log2e, F::to_integer);
  const R n = shifted - F::to_integer;
  const R high = mad<fused>(-n, F::ln2_high, x), r = mad<fused>(-n, F::ln2_low, high);
  return {shifted, n, r, mad<fused>(-n, F::ln2_low, high - r)};
}

// 2^(n + more), n from the lowest bits.
template <class R>
TESSERA_INLINE R power_of_two(typename Format<R>::Bits n, int more = 0) {
  using F = Format<R>;
  return from_bits<R>((n + F::bias + static_cast<typename F::Bits>(more)) << F::mantissa);
}

// (1 + q) 2^n in two steps, of which the second may leave the normal numbers.
template <bool fused, class R>
TESSERA_INLINE R scaled(R q, R shifted) {
  using F = Format<R>;
  const R half = mad<fused>(shifted - F::to_integer, R(0.5), F::to_integer);
  return (1 + q) * power_of_two<R>(bits(half)) * power_of_two<R>(bits(shifted) - bits(half));
}

// Infinite above, zero below.
template <class R>
TESSERA_INLINE R within(R y, R x, R lowest, R highest) {
  const auto above = mask<R>(x > highest), below = mask<R>(x < lowest);
  return from_bits<R>((bits(y) & ~(above | below)) | (above & Format<R>::infinity));
}

template <bool fused, class R>
TESSERA_INLINE R exp(R x) {
  using E = Exponential<R>;
  const Octaves<R> o = octaves<fused>(x);
  const R q = mad<fused>(o.r * o.r, polynomial<fused>(E::terms, o.r), o.r);
  return within(scaled<fused>(q, o.shifted), x, E::underflow, E::overflow);
}

template <bool fused, class R>
TESSERA_INLINE R exp2(R x) {
  using E = Exponential<R>;
  const R shifted = x + Format<R>::to_integer, n = shifted - Format<R>::to_integer;
  const R r = (x - n) * E::ln2;
  const R q = mad<fused>(r * r, polynomial<fused>(E::terms, r), r);
  return within(scaled<fused>(q, shifted), x, E::underflow_2, E::overflow_2);
}

// exp(x) - 1 while 2^n is a normal number. Half of it is computed: 2^n may be too large.
template <bool fused, class R>
TESSERA_INLINE R expm1_bounded(R x) {
  const Octaves<R> o = octaves<fused>(x);
  const R p = polynomial<fused>(Exponential<R>::terms, o.r);
  const R q = o.r + mad<fused>(o.r * o.r, p, o.tail), half = power_of_two<R>(bits(o.shifted), -1);
  return 2 * mad<fused>(half, q, half - R(0.5));
}

template <bool fused, class R>
TESSERA_INLINE R expm1(R x) {
  using E = Exponential<R>;
  R y = within(expm1_bounded<fused>(x), x, E::minus_one, E::overflow);
  y = choose<R>(mask<R>(x < E::minus_one), -1, y);
  return choose<R>(mask<R>(size_of_number(x) < E::tiny), x, y);
}

template <bool fused, class R>
TESSERA_INLINE R tanh(R x) {
  const R size = size_of_number(x), e = expm1_bounded<fused>(-2 * size);
  const R y = choose<R>(mask<R>(size > Exponential<R>::one), 1, size_of_number(e / (e + 2)));
  return with_sign(y, x);
}

// sinh or cosh of |x| by those of n ln 2 and of the rest; a quarter of it, for the largest.
template <bool fused, bool odd, class R>
TESSERA_INLINE R hyperbolic(R x) {
  using E = Exponential<R>;
  const R size = size_of_number(x);
  const Octaves<R> o = octaves<fused>(size);
  const R z = o.r * o.r;
  const R s = o.r + mad<fused>(o.r * z, polynomial<fused>(E::odd, z), o.tail);
  const R c = z * polynomial<fused>(E::even, z);
  const R up = power_of_two<R>(bits(o.shifted), -3), lower = power_of_two<R>(-bits(o.shifted), -3);
  const R down = from_bits<R>(bits(lower) & mask<R>(o.n < 64));
  const R a = odd ? up - down : up + down, b = odd ? up + down : up - down;
  const R y = 4 * (a + mad<fused>(b, s, a * c));
  return choose<R>(mask<R>(size > E::overflow_h), from_bits<R>(Format<R>::infinity), y);
}
template <bool fused, class R>
TESSERA_INLINE R sinh(R x) {
  const auto tiny = mask<R>(size_of_number(x) < Exponential<R>::tiny_h);
  return choose<R>(tiny, x, with_sign(hyperbolic<fused, true>(x), x));
}
template <bool fused, class R>
TESSERA_INLINE R cosh(R x) {
  return hyperbolic<fused, false>(x);
}

}  // namespace tessera::quick
