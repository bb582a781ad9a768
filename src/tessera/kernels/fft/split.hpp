// SPDX-License-Identifier: Apache-2.0
#pragma once
// Complex numbers side by side in registers: real parts in one, imaginary parts in another, so that
// a product with i moves nothing and one with a number is four instructions. Loads and stores of
// memory where the parts alternate, of buffers where a register of each alternates ("blocked"), and
// the transforms of 2 to 15 of them. Private to the cpu's FFT.
//   Split<float, 16> x[4];  x[0] = load_split<16>(p); ...  transform(x);   // forward, in natural order

#include <numbers>

#include "tessera/kernels/fft/line_tables.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera {

template <class R, int bytes>
struct Split {
  Register<R, bytes> re, im;
};

template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> operator+(const Split<R, bytes>& a, const Split<R, bytes>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> operator-(const Split<R, bytes>& a, const Split<R, bytes>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> operator*(const Split<R, bytes>& a, const Split<R, bytes>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// A register as it is, rounded: what is made of it is not fused with what it was made of. Code that is not optimised
// fuses nothing, and holds wide registers in memory, where an operand in a register cannot be asked for.
template <class V>
TESSERA_INLINE V rounded(V v) {
#if !defined(__OPTIMIZE__)
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}
// The same bits in whichever order its parts are: of swapped numbers, and as fft_passes_run.cpp has it.
template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> unfused_product(const Split<R, bytes>& a, const Split<R, bytes>& b) {
  return {rounded(a.re * b.re) - rounded(a.im * b.im), rounded(a.re * b.im) + rounded(a.im * b.re)};
}
template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> scaled(const Split<R, bytes>& a, const Register<R, bytes>& b) {
  return {a.re * b, a.im * b};
}
template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> times_minus_i(const Split<R, bytes>& a) {
  return {a.im, -a.re};
}
// A forward transform of swapped parts, swapped again, is the backward one.
template <class R, int bytes>
TESSERA_INLINE Split<R, bytes> swapped(const Split<R, bytes>& a) {
  return {a.im, a.re};
}
// A number with these parts in all lanes.
template <int bytes, class R>
TESSERA_INLINE Split<R, bytes> split_number(R re, R im) {
  return {in_all_lanes<bytes>(re), in_all_lanes<bytes>(im)};
}

template <int bytes, class R>
TESSERA_INLINE Split<R, bytes> load_blocked(const R* p) {
  return {load_register<bytes>(p), load_register<bytes>(p + lanes<R, bytes>)};
}
template <class R, int bytes>
TESSERA_INLINE void store_blocked(R* p, const Split<R, bytes>& z) {
  store_register<R, bytes>(p, z.re);
  store_register<R, bytes>(p + lanes<R, bytes>, z.im);
}

// Note [order of lanes] in line_tables.hpp. Shuffles of two registers, for each lane of the result a lane of the first, then of the second.
template <class V>
TESSERA_INLINE V even_lanes(const V& a, const V& b) {
  if constexpr (sizeof(V) == 16 && sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
  else if constexpr (sizeof(V) == 16)
    return __builtin_shufflevector(a, b, 0, 2);
  else if constexpr (sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14);
  else
    return __builtin_shufflevector(a, b, 0, 4, 2, 6);
}
template <class V>
TESSERA_INLINE V odd_lanes(const V& a, const V& b) {
  if constexpr (sizeof(V) == 16 && sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
  else if constexpr (sizeof(V) == 16)
    return __builtin_shufflevector(a, b, 1, 3);
  else if constexpr (sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
  else
    return __builtin_shufflevector(a, b, 1, 5, 3, 7);
}
template <class V>
TESSERA_INLINE V low_lanes(const V& a, const V& b) {  // of each half, in turn
  if constexpr (sizeof(V) == 16 && sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  else if constexpr (sizeof(V) == 16)
    return __builtin_shufflevector(a, b, 0, 2);
  else if constexpr (sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  else
    return __builtin_shufflevector(a, b, 0, 4, 2, 6);
}
template <class V>
TESSERA_INLINE V high_lanes(const V& a, const V& b) {
  if constexpr (sizeof(V) == 16 && sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  else if constexpr (sizeof(V) == 16)
    return __builtin_shufflevector(a, b, 1, 3);
  else if constexpr (sizeof(a[0]) == 4)
    return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  else
    return __builtin_shufflevector(a, b, 1, 5, 3, 7);
}

template <int bytes, class R>
TESSERA_INLINE Split<R, bytes> load_split(const R* p) {
  const Register<R, bytes> a = load_register<bytes>(p),
                           b = load_register<bytes>(p + lanes<R, bytes>);
  return {even_lanes(a, b), odd_lanes(a, b)};
}
template <class R, int bytes>
TESSERA_INLINE void store_split(R* p, const Split<R, bytes>& z) {
  store_register<R, bytes>(p, low_lanes(z.re, z.im));
  store_register<R, bytes>(p + lanes<R, bytes>, high_lanes(z.re, z.im));
}
// Numbers one after the other, in the order of the lanes.
template <int bytes, class R>
TESSERA_INLINE Register<R, bytes> load_in_order(const R* p) {
  const Register<R, bytes> a = load_register<bytes>(p);
  if constexpr (bytes == 16)
    return a;
  else if constexpr (sizeof(R) == 4)
    return __builtin_shufflevector(a, a, 0, 1, 4, 5, 2, 3, 6, 7);
  else
    return __builtin_shufflevector(a, a, 0, 2, 1, 3);
}

// As many registers as one has lanes: lane j of register i becomes lane i of register j.
template <class V>
TESSERA_INLINE void transpose2(V& a, V& b) {  // of doubles
  const V low = low_lanes(a, b), high = high_lanes(a, b);
  a = low;
  b = high;
}
template <class V>
TESSERA_INLINE void transpose4(V& a, V& b, V& c, V& d) {  // of floats, in each half
  const V x = low_lanes(a, c), y = low_lanes(b, d), z = high_lanes(a, c), w = high_lanes(b, d);
  a = low_lanes(x, y);
  b = high_lanes(x, y);
  c = low_lanes(z, w);
  d = high_lanes(z, w);
}
template <class V>
TESSERA_INLINE void exchange_halves(V& a, V& b) {
  V x, y;
  if constexpr (sizeof(a[0]) == 4) {
    x = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    y = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  } else {
    x = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    y = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  }
  a = x;
  b = y;
}
template <class V, int width>
TESSERA_INLINE void transpose(V (&x)[width]) {
  constexpr int half = 16 / sizeof(x[0][0]);
#pragma GCC unroll 2
  for (int i = 0; i < width; i += half)
    if constexpr (half == 4)
      transpose4(x[i], x[i + 1], x[i + 2], x[i + 3]);
    else
      transpose2(x[i], x[i + 1]);
  if constexpr (width > half) {
#pragma GCC unroll 4
    for (int i = 0; i < half; ++i) exchange_halves(x[i], x[i + half]);
  }
}
// The same of complex numbers, before and after it in the order of lanes.
template <class R, int bytes>
TESSERA_INLINE void transpose(Split<R, bytes>* x) {
  constexpr int width = lanes<R, bytes>;
  Register<R, bytes> re[width], im[width];
#pragma GCC unroll 8
  for (int i = 0; i < width; ++i) {
    re[i] = x[neighbour_in_lane<R, bytes>(i)].re;
    im[i] = x[neighbour_in_lane<R, bytes>(i)].im;
  }
  transpose(re);
  transpose(im);
#pragma GCC unroll 8
  for (int i = 0; i < width; ++i) {
    x[neighbour_in_lane<R, bytes>(i)].re = re[i];
    x[neighbour_in_lane<R, bytes>(i)].im = im[i];
  }
}

template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[2]) {
  const Split<R, bytes> a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}
template <class R, int bytes>
TESSERA_INLINE void transform4(Split<R, bytes>& a, Split<R, bytes>& b, Split<R, bytes>& c,
                               Split<R, bytes>& d) {
  const Split<R, bytes> even = a + c, odd = a - c, sum = b + d, turned = times_minus_i(b - d);
  a = even + sum;
  b = odd + turned;
  c = even - sum;
  d = odd - turned;
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[4]) {
  transform4(x[0], x[1], x[2], x[3]);
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[8]) {
  constexpr R h = static_cast<R>(0.70710678118654752440);  // sqrt(1/2)
  Split<R, bytes> a = x[0], b = x[2], c = x[4], d = x[6], e = x[1], f = x[3], g = x[5], k = x[7];
  transform4(a, b, c, d);
  transform4(e, f, g, k);
  f = {(f.re + f.im) * h, (f.im - f.re) * h};
  g = times_minus_i(g);
  k = {(k.im - k.re) * h, (k.re + k.im) * -h};
  x[0] = a + e;
  x[1] = b + f;
  x[2] = c + g;
  x[3] = d + k;
  x[4] = a - e;
  x[5] = b - f;
  x[6] = c - g;
  x[7] = d - k;
}

// cos and sin of 2 pi j / Radix. The sums of Taylor converge quickly for angles up to pi / 4; in more
// digits, so that what is a half is a half.
template <int Radix>
struct Roots {
  double cosine[Radix] = {}, sine[Radix] = {};
  constexpr Roots() {
    for (int j = 0; j < Radix; ++j) {
      const int quarter = (8 * j / Radix + 1) / 2;  // the nearest one
      const long double x =
          std::numbers::pi_v<long double> * (4 * j - quarter * Radix) / (2.0L * Radix);
      long double c = 1, s = x, term = x;
      for (int k = 2; k < 30; ++k) {
        term *= x / k;
        long double& sum = k % 2 == 0 ? c : s;
        sum += k / 2 % 2 == 0 ? term : -term;
      }
      cosine[j] = static_cast<double>(quarter % 4 == 0   ? c
                                      : quarter % 4 == 1 ? -s
                                      : quarter % 4 == 2 ? -c
                                                         : s);
      sine[j] = static_cast<double>(quarter % 4 == 0   ? s
                                    : quarter % 4 == 1 ? c
                                    : quarter % 4 == 2 ? -s
                                                       : -c);
    }
  }
};

// An odd number of points: sums and differences of the points j and Radix - j meet real numbers.
template <class R, int bytes, int Radix>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[Radix]) {
  static_assert(Radix % 2 == 1);
  constexpr int half = Radix / 2;
  static constexpr Roots<Radix> roots;
  Split<R, bytes> sum[half], difference[half], all = x[0];
#pragma GCC unroll 8
  for (int j = 1; j <= half; ++j) {
    sum[j - 1] = x[j] + x[Radix - j];
    difference[j - 1] = times_minus_i(x[j] - x[Radix - j]);
    all = all + sum[j - 1];
  }
#pragma GCC unroll 8
  for (int k = 1; k <= half; ++k) {
    Split<R, bytes> even = x[0], odd = {};
#pragma GCC unroll 8
    for (int j = 1; j <= half; ++j) {
      even = even +
             scaled(sum[j - 1], in_all_lanes<bytes>(static_cast<R>(roots.cosine[j * k % Radix])));
      odd = odd + scaled(difference[j - 1],
                         in_all_lanes<bytes>(static_cast<R>(roots.sine[j * k % Radix])));
    }
    x[k] = even + odd;
    x[Radix - k] = even - odd;
  }
  x[0] = all;
}

// A * B points: B transforms of A points, turns, A transforms of B points.
template <int A, int B, class R, int bytes>
TESSERA_INLINE void transform_product(Split<R, bytes> (&x)[A * B]) {
  static constexpr Roots<A * B> roots;
  Split<R, bytes> y[B][A];
#pragma GCC unroll 8
  for (int j = 0; j < B; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < A; ++i) y[j][i] = x[j + B * i];
    transform(y[j]);
    if (j == 0) continue;
#pragma GCC unroll 8
    for (int k = 1; k < A; ++k)
      y[j][k] = y[j][k] * split_number<bytes>(static_cast<R>(roots.cosine[j * k]),
                                              static_cast<R>(-roots.sine[j * k]));
  }
#pragma GCC unroll 8
  for (int k = 0; k < A; ++k) {
    Split<R, bytes> z[B];
#pragma GCC unroll 8
    for (int j = 0; j < B; ++j) z[j] = y[j][k];
    transform(z);
#pragma GCC unroll 8
    for (int j = 0; j < B; ++j) x[k + A * j] = z[j];
  }
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[6]) {
  transform_product<2, 3>(x);
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[9]) {
  transform_product<3, 3>(x);
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[10]) {
  transform_product<2, 5>(x);
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[12]) {
  transform_product<4, 3>(x);
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[14]) {
  transform_product<2, 7>(x);
}
template <class R, int bytes>
TESSERA_INLINE void transform(Split<R, bytes> (&x)[15]) {
  transform_product<3, 5>(x);
}

}  // namespace tessera
