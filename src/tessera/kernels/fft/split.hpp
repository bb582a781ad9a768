// SPDX-License-Identifier: Apache-2.0
#pragma once
// Complex numbers side by side in registers: real parts in one, imaginary parts in another, so that
// a product with i moves nothing and one with a number is four instructions. Loads and stores of
// memory where the parts alternate, of buffers where a register of each alternates ("blocked"), and
// the transforms of 2 to 15 of them. Private to the cpu's FFT.
//   Split<float> x[4];  load_split(p, x[0]); ...  transform(x);   // forward, in natural order

#include <numbers>

#include "tessera/base/real_of.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera {

template <class R>
struct Split {
  Register<R> re, im;
};

template <class R>
TESSERA_INLINE Split<R> operator+(const Split<R>& a, const Split<R>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
TESSERA_INLINE Split<R> operator-(const Split<R>& a, const Split<R>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
TESSERA_INLINE Split<R> operator*(const Split<R>& a, const Split<R>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
TESSERA_INLINE Split<R> operator*(const Split<R>& a, const Register<R>& b) {
  return {a.re * b, a.im * b};
}
template <class R>
TESSERA_INLINE Split<R> times_minus_i(const Split<R>& a) {
  return {a.im, -a.re};
}
// A forward transform of swapped parts, swapped again, is the backward one.
template <class R>
TESSERA_INLINE Split<R> swapped(const Split<R>& a) {
  return {a.im, a.re};
}

template <class R>
TESSERA_INLINE Split<R> load_blocked(const R* p) {
  return {load_register(p), load_register(p + lanes<R>)};
}
template <class R>
TESSERA_INLINE void store_blocked(R* p, const Split<R>& z) {
  store_register<R>(p, z.re);
  store_register<R>(p + lanes<R>, z.im);
}

TESSERA_INLINE Split<float> load_split(const float* p) {
  const Register<float> a = load_register(p), b = load_register(p + 4);
  return {__builtin_shufflevector(a, b, 0, 2, 4, 6), __builtin_shufflevector(a, b, 1, 3, 5, 7)};
}
TESSERA_INLINE Split<double> load_split(const double* p) {
  const Register<double> a = load_register(p), b = load_register(p + 2);
  return {__builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3)};
}
TESSERA_INLINE void store_split(float* p, const Split<float>& z) {
  store_register<float>(p, __builtin_shufflevector(z.re, z.im, 0, 4, 1, 5));
  store_register<float>(p + 4, __builtin_shufflevector(z.re, z.im, 2, 6, 3, 7));
}
TESSERA_INLINE void store_split(double* p, const Split<double>& z) {
  store_register<double>(p, __builtin_shufflevector(z.re, z.im, 0, 2));
  store_register<double>(p + 2, __builtin_shufflevector(z.re, z.im, 1, 3));
}

// As many registers as one has lanes: lane j of register i becomes lane i of register j.
TESSERA_INLINE void transpose(Register<float>& a, Register<float>& b, Register<float>& c,
                              Register<float>& d) {
  const Register<float> x = __builtin_shufflevector(a, b, 0, 4, 2, 6),
                        y = __builtin_shufflevector(a, b, 1, 5, 3, 7),
                        z = __builtin_shufflevector(c, d, 0, 4, 2, 6),
                        w = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  a = __builtin_shufflevector(x, z, 0, 1, 4, 5);
  b = __builtin_shufflevector(y, w, 0, 1, 4, 5);
  c = __builtin_shufflevector(x, z, 2, 3, 6, 7);
  d = __builtin_shufflevector(y, w, 2, 3, 6, 7);
}
TESSERA_INLINE void transpose(Register<float> (&x)[4]) { transpose(x[0], x[1], x[2], x[3]); }
TESSERA_INLINE void transpose(Register<double> (&x)[2]) {
  const Register<double> a = x[0], b = x[1];
  x[0] = __builtin_shufflevector(a, b, 0, 2);
  x[1] = __builtin_shufflevector(a, b, 1, 3);
}
TESSERA_INLINE void transpose(Split<float>* x) {
  transpose(x[0].re, x[1].re, x[2].re, x[3].re);
  transpose(x[0].im, x[1].im, x[2].im, x[3].im);
}
TESSERA_INLINE void transpose(Split<double>* x) {
  const Split<double> a = x[0], b = x[1];
  x[0] = {__builtin_shufflevector(a.re, b.re, 0, 2), __builtin_shufflevector(a.im, b.im, 0, 2)};
  x[1] = {__builtin_shufflevector(a.re, b.re, 1, 3), __builtin_shufflevector(a.im, b.im, 1, 3)};
}

template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[2]) {
  const Split<R> a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}
template <class R>
TESSERA_INLINE void transform4(Split<R>& a, Split<R>& b, Split<R>& c, Split<R>& d) {
  const Split<R> even = a + c, odd = a - c, sum = b + d, turned = times_minus_i(b - d);
  a = even + sum;
  b = odd + turned;
  c = even - sum;
  d = odd - turned;
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[4]) {
  transform4(x[0], x[1], x[2], x[3]);
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[8]) {
  constexpr R h = static_cast<R>(0.70710678118654752440);  // sqrt(1/2)
  Split<R> a = x[0], b = x[2], c = x[4], d = x[6], e = x[1], f = x[3], g = x[5], k = x[7];
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

// cos and sin of 2 pi j / Radix. The sums of Taylor converge quickly for angles up to pi / 4.
template <int Radix>
struct Roots {
  double cosine[Radix] = {}, sine[Radix] = {};
  constexpr Roots() {
    for (int j = 0; j < Radix; ++j) {
      const int quarter = (8 * j / Radix + 1) / 2;  // the nearest one
      const double x = std::numbers::pi * (4 * j - quarter * Radix) / (2.0 * Radix);
      double c = 1, s = x, term = x;
      for (int k = 2; k < 30; ++k) {
        term *= x / k;
        double& sum = k % 2 == 0 ? c : s;
        sum += k / 2 % 2 == 0 ? term : -term;
      }
      cosine[j] = quarter % 4 == 0 ? c : quarter % 4 == 1 ? -s : quarter % 4 == 2 ? -c : s;
      sine[j] = quarter % 4 == 0 ? s : quarter % 4 == 1 ? c : quarter % 4 == 2 ? -s : -c;
    }
  }
};

// An odd number of points: sums and differences of the points j and Radix - j meet real numbers.
template <class R, int Radix>
TESSERA_INLINE void transform(Split<R> (&x)[Radix]) {
  static_assert(Radix % 2 == 1);
  constexpr int half = Radix / 2;
  static constexpr Roots<Radix> roots;
  Split<R> sum[half], difference[half], all = x[0];
#pragma GCC unroll 8
  for (int j = 1; j <= half; ++j) {
    sum[j - 1] = x[j] + x[Radix - j];
    difference[j - 1] = times_minus_i(x[j] - x[Radix - j]);
    all = all + sum[j - 1];
  }
#pragma GCC unroll 8
  for (int k = 1; k <= half; ++k) {
    Split<R> even = x[0], odd = {};
#pragma GCC unroll 8
    for (int j = 1; j <= half; ++j) {
      even = even + sum[j - 1] * in_all_lanes(static_cast<R>(roots.cosine[j * k % Radix]));
      odd = odd + difference[j - 1] * in_all_lanes(static_cast<R>(roots.sine[j * k % Radix]));
    }
    x[k] = even + odd;
    x[Radix - k] = even - odd;
  }
  x[0] = all;
}

// A * B points: B transforms of A points, turns, A transforms of B points.
template <int A, int B, class R>
TESSERA_INLINE void transform_product(Split<R> (&x)[A * B]) {
  static constexpr Roots<A * B> roots;
  Split<R> y[B][A];
#pragma GCC unroll 8
  for (int j = 0; j < B; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < A; ++i) y[j][i] = x[j + B * i];
    transform(y[j]);
#pragma GCC unroll 8
    for (int k = 1; k < A && j > 0; ++k)
      y[j][k] = y[j][k] * Split<R>{in_all_lanes(static_cast<R>(roots.cosine[j * k])),
                                   in_all_lanes(static_cast<R>(-roots.sine[j * k]))};
  }
#pragma GCC unroll 8
  for (int k = 0; k < A; ++k) {
    Split<R> z[B];
#pragma GCC unroll 8
    for (int j = 0; j < B; ++j) z[j] = y[j][k];
    transform(z);
#pragma GCC unroll 8
    for (int j = 0; j < B; ++j) x[k + A * j] = z[j];
  }
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[6]) {
  transform_product<2, 3>(x);
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[9]) {
  transform_product<3, 3>(x);
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[10]) {
  transform_product<2, 5>(x);
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[12]) {
  transform_product<4, 3>(x);
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[14]) {
  transform_product<2, 7>(x);
}
template <class R>
TESSERA_INLINE void transform(Split<R> (&x)[15]) {
  transform_product<3, 5>(x);
}

}  // namespace tessera
