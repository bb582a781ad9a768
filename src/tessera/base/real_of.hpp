// SPDX-License-Identifier: Apache-2.0
#pragma once
// The real numbers that a number is made of: those of a complex type, else the type itself.
//   typename RealOf<c64>::type x = 1.0f;

#include <complex>

#include "tessera/base/scalar.hpp"

namespace tessera {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};

}  // namespace tessera
