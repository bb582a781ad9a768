// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels of dense algebra ask of a number, real or complex. Private to the plug-in.
//   Real<c64> r = length_of(z);   T one = number<T>(1);

#include <type_traits>

#include "tessera/base/real_of.hpp"

namespace tessera::cuda {

template <class T>
using Real = typename RealOf<T>::type;
template <class R>
using ComplexOf = std::conditional_t<std::is_same_v<R, float>, c64, c128>;

template <class T>
__device__ inline Real<T> length_of(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return fabs(x);
  else
    return hypot(x.re, x.im);
}
template <class T>
__device__ inline T times(const T& x, Real<T> f) {
  if constexpr (std::is_floating_point_v<T>)
    return x * f;
  else
    return T(x.re * f, x.im * f);
}
template <class T>
__device__ inline T product_of(const T& x, const T& y) {
  if constexpr (std::is_floating_point_v<T>)
    return x * y;
  else
    return T(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}
template <class T>
__device__ inline T number(Real<T> x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return T(x, 0);
}

template <class T>
__device__ inline T conjugated(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return conj(x);
}

template <class T>
__device__ inline Real<T> real_part(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return x.re;
}

}  // namespace tessera::cuda
