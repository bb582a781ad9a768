// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mathematical functions of float and double without a branch and without a table, so that g++
// vectorises loops over them with the registers of every host: what they are made of, and those
// that random numbers need. Accurate to two or three units in the last place within what each says
// it takes. For the cpu's kernels.
//   for (i64 i = 0; i < n; ++i) y[i] = quick::log_normal(x[i]);

#include <cstdint>
#include <type_traits>

#include "tessera/kernels/register.hpp"

namespace tessera::quick {

// How a number is stored, and the series of functions that end where its precision does.
template <class R>
struct Format;
template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa = 52;
  static constexpr Bits bias = 1023, infinity = 0x7ff0000000000000,
                        root_of_half = 0x3fe6a09e667f3bcd;
  static constexpr double to_integer = 0x1.8p52;  // plus a number: rounded, in the lowest bits
  static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double log_terms[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                         2.857142874366239149e-01, 2.222219843214978396e-01,
                                         1.818357216161805012e-01, 1.531383769920937332e-01,
                                         1.479819860511658591e-01};
  static constexpr double sin_terms[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                         -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                         -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static constexpr double cos_terms[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                         2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                         2.08757232129817482790e-09, -1.13596475577881948265e-11};
};
template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa = 23;
  static constexpr Bits bias = 127, infinity = 0x7f800000, root_of_half = 0x3f3504f3;
  static constexpr float to_integer = 0x1.8p23f;
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float log_terms[] = {0.66666668653f, 0.40000000596f, 0.28571429849f,
                                        0.22222067416f, 0.18242673576f};
  static constexpr float sin_terms[] = {-1.6666667163e-01f, 8.3333337680e-03f, -1.9841270114e-04f,
                                        2.7557314297e-06f};
  static constexpr float cos_terms[] = {4.1666667908e-02f, -1.3888889225e-03f, 2.4801587642e-05f,
                                        -2.7557314297e-07f};
};

template <class R>
TESSERA_INLINE typename Format<R>::Bits bits(R x) {
  return __builtin_bit_cast(typename Format<R>::Bits, x);
}
template <class R>
TESSERA_INLINE R from_bits(typename Format<R>::Bits b) {
  return __builtin_bit_cast(R, b);
}
template <class R>
inline constexpr
    typename Format<R>::Bits sign_bit = typename Format<R>::Bits(1) << (8 * sizeof(R) - 1);

// All bits or none, and a choice by them: g++ makes branches of choices that it can see through.
template <class R>
TESSERA_INLINE typename Format<R>::Bits mask(bool condition) {
  return 0 - static_cast<typename Format<R>::Bits>(condition);
}
template <class R>
TESSERA_INLINE R choose(typename Format<R>::Bits mask, R yes, R no) {
  return from_bits<R>((bits(yes) & mask) | (bits(no) & ~mask));
}
template <class R>
TESSERA_INLINE R size_of_number(R x) {
  return from_bits<R>(bits(x) & ~sign_bit<R>);
}
// A size with the sign of another number.
template <class R>
TESSERA_INLINE R with_sign(R size, R of) {
  return from_bits<R>(bits(size) | (bits(of) & sign_bit<R>));
}

// a b + c, rounded once where `fused`: what the host's vectors have an instruction for.
template <bool fused, class R>
TESSERA_INLINE R mad(R a, R b, R c) {
  if constexpr (!fused)
    return a * b + c;
  else if constexpr (std::is_same_v<R, double>)
    return __builtin_fma(a, b, c);
  else
    return __builtin_fmaf(a, b, c);
}

// c[First] + x c[First + 1] + ... of N terms, in halves (Estrin): what waits for what is short.
template <bool fused, int First, int N, class R, int All>
TESSERA_INLINE R polynomial_part(const R (&c)[All], R x) {
  if constexpr (N == 1) {
    return c[First];
  } else if constexpr (N == 2) {
    return mad<fused>(x, c[First + 1], c[First]);
  } else {
    constexpr int low = N > 8 ? 8 : N > 4 ? 4 : 2;
    const R x2 = x * x, x4 = x2 * x2, power = low == 8 ? x4 * x4 : low == 4 ? x4 : x2;
    return mad<fused>(power, polynomial_part<fused, First + low, N - low>(c, x),
                      polynomial_part<fused, First, low>(c, x));
  }
}
template <bool fused, class R, int N>
TESSERA_INLINE R polynomial(const R (&c)[N], R x) {
  return polynomial_part<fused, 0, N>(c, x);
}

// log(x) for a positive normal number.
template <class R>
TESSERA_INLINE R log_normal(R x) {
  using F = Format<R>;
  using B = typename F::Bits;
  constexpr B above = F::bias + 1;  // keeps exponents positive
  const B b = bits(x), k_above = (b - F::root_of_half + (above << F::mantissa)) >> F::mantissa;
  const R k = from_bits<R>(k_above + bits(F::to_integer)) - (F::to_integer + R(above));
  const R f = from_bits<R>(b - ((k_above - above) << F::mantissa)) - 1;
  const R s = f / (2 + f), z = s * s, half = R(0.5) * f * f;
  const R r = z * polynomial<false>(F::log_terms, z);
  return k * F::ln2_high - ((half - (s * (half + r) + k * F::ln2_low)) - f);
}

// A sine and a cosine of one angle.
template <class R>
struct Circle {
  R sin, cos;
};

}  // namespace tessera::quick
