// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mathematical functions of float and double under one name each, usable by g++ and nvcc alike, and
// the quotient of complex numbers, which is made of these alone.
//   float y = math::exp(x);   if (math::is_nan(x)) …

#include <cmath>
#include <limits>

#include "tessera/base/scalar.hpp"

namespace tessera::math {

#define TESSERA_REAL_1(name, c_name)                                        \
  TESSERA_HOST_DEVICE inline float name(float x) { return ::c_name##f(x); } \
  TESSERA_HOST_DEVICE inline double name(double x) { return ::c_name(x); }
#define TESSERA_REAL_2(name, c_name)                                                    \
  TESSERA_HOST_DEVICE inline float name(float x, float y) { return ::c_name##f(x, y); } \
  TESSERA_HOST_DEVICE inline double name(double x, double y) { return ::c_name(x, y); }
TESSERA_REAL_1(sqrt, sqrt)
TESSERA_REAL_1(exp, exp)
TESSERA_REAL_1(exp2, exp2)
TESSERA_REAL_1(expm1, expm1)
TESSERA_REAL_1(log, log)
TESSERA_REAL_1(log2, log2)
TESSERA_REAL_1(log10, log10)
TESSERA_REAL_1(log1p, log1p)
TESSERA_REAL_1(sin, sin)
TESSERA_REAL_1(cos, cos)
TESSERA_REAL_1(tan, tan)
TESSERA_REAL_1(arcsin, asin)
TESSERA_REAL_1(arccos, acos)
TESSERA_REAL_1(arctan, atan)
TESSERA_REAL_1(sinh, sinh)
TESSERA_REAL_1(cosh, cosh)
TESSERA_REAL_1(tanh, tanh)
TESSERA_REAL_1(arcsinh, asinh)
TESSERA_REAL_1(arccosh, acosh)
TESSERA_REAL_1(arctanh, atanh)
TESSERA_REAL_1(cbrt, cbrt)
TESSERA_REAL_1(floor, floor)
TESSERA_REAL_1(ceil, ceil)
TESSERA_REAL_1(trunc, trunc)
TESSERA_REAL_1(rint, rint)
TESSERA_REAL_1(fabs, fabs)
TESSERA_REAL_2(arctan2, atan2)
TESSERA_REAL_2(hypot, hypot)
TESSERA_REAL_2(copysign, copysign)
TESSERA_REAL_2(fmod, fmod)
TESSERA_REAL_2(pow, pow)
#undef TESSERA_REAL_1
#undef TESSERA_REAL_2

template <class T>
TESSERA_HOST_DEVICE inline bool is_nan(T x) {
  return x != x;
}
template <class T>
TESSERA_HOST_DEVICE inline bool is_inf(T x) {
  return fabs(x) > std::numeric_limits<T>::max();
}
template <class T>
TESSERA_HOST_DEVICE inline bool is_finite(T x) {
  return fabs(x) <= std::numeric_limits<T>::max();
}

// A product that is rounded before anything is added to it: nvcc fuses the two otherwise.
template <class T>
TESSERA_HOST_DEVICE inline T rounded_product(T a, T b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == sizeof(float))
    return __fmul_rn(a, b);
  else
    return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

// NumPy's: of zero both parts are NaN, other than of a quotient.
template <class T>
TESSERA_HOST_DEVICE inline Complex<T> reciprocal(Complex<T> z) {
  const bool upright = fabs(z.im) <= fabs(z.re);
  const T large = upright ? z.re : z.im, small = upright ? z.im : z.re;
  const T ratio = small / large, d = large + rounded_product(small, ratio);
  return upright ? Complex<T>(1 / d, -ratio / d) : Complex<T>(ratio / d, -1 / d);
}

// Smith's method, by choices instead of branches so that loops over it are vectorised. Operation by
// operation NumPy's, signed zeros, infinities and NaNs included: zero divides as +0.
template <class T>
TESSERA_HOST_DEVICE inline Complex<T> divide(Complex<T> a, Complex<T> b) {
  const T br = fabs(b.re), bi = fabs(b.im);
  const bool upright = br >= bi;
  const T large = upright ? b.re : b.im, small = upright ? b.im : b.re;
  const T ratio = small / large, scale = T(1) / (large + rounded_product(small, ratio));
  const T p = upright ? a.re : a.im, q = upright ? a.im : a.re;
  const T turned = rounded_product(p, ratio);
  const T re = (p + rounded_product(q, ratio)) * scale;
  const T im = ((upright ? q : turned) - (upright ? turned : q)) * scale;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const bool by_zero = br + bi == 0;
  return {by_zero ? a.re * infinity : re, by_zero ? a.im * infinity : im};
}

}  // namespace tessera::math
