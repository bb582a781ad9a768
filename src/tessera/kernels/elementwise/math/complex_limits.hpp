// SPDX-License-Identifier: Apache-2.0
#pragma once
// Complex functions where a part of the argument is infinite or NaN, as Annex G of C99 and the
// array API standard have them: what the formulas for finite numbers turn into NaN there. A sign or
// part that the standards leave open is the one that C libraries give.
//   if (!is_finite(z)) return at_limits::arccosh(z);

#include "tessera/kernels/elementwise/math/real_math.hpp"

namespace tessera::math {

TESSERA_HOST_DEVICE inline bool is_finite(c128 z) { return is_finite(z.re) && is_finite(z.im); }

namespace at_limits {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double half_pi = 1.57079632679489661923;

TESSERA_HOST_DEVICE inline bool is_infinite(c128 z) { return is_inf(z.re) || is_inf(z.im); }

// The inverse functions. Points at infinity have eight directions, which arctan2 knows.
TESSERA_HOST_DEVICE inline c128 arcsin(c128 z) {
  return {z.re == 0 ? z.re : arctan2(z.re, fabs(z.im)),
          is_infinite(z) ? copysign(infinity, z.im) : nan};
}
TESSERA_HOST_DEVICE inline c128 arccos(c128 z) {
  return {z.re == 0 ? half_pi : arctan2(fabs(z.im), z.re),
          is_infinite(z) ? copysign(infinity, -z.im) : nan};
}
TESSERA_HOST_DEVICE inline c128 arccosh(c128 z) {
  const bool half = z.re == 0 && is_nan(z.im);
  return {is_infinite(z) ? infinity : nan, half ? half_pi : arctan2(z.im, z.re)};
}
TESSERA_HOST_DEVICE inline c128 arctanh(c128 z) {
  const bool turned = is_inf(z.im) || (is_inf(z.re) && !is_nan(z.im));
  return {is_infinite(z) || z.re == 0 ? copysign(0.0, z.re) : nan,
          turned ? copysign(half_pi, z.im) : nan};
}

// Those of angles that are not finite: nothing is known of a direction but on the axes.
TESSERA_HOST_DEVICE inline c128 sinh(c128 z) {
  return {z.re == 0 || is_inf(z.re) ? z.re : nan, nan};
}
TESSERA_HOST_DEVICE inline c128 cosh(c128 z) {
  return {is_inf(z.re) ? infinity : nan, z.re == 0 ? 0.0 : nan};
}
TESSERA_HOST_DEVICE inline c128 tanh(c128 z) {
  if (is_inf(z.re)) return {copysign(1.0, z.re), copysign(0.0, z.im)};
  return {z.re == 0 ? z.re : nan, nan};
}
TESSERA_HOST_DEVICE inline c128 exp(c128 z) {
  if (is_inf(z.re)) return z.re < 0 ? c128(0.0, copysign(0.0, z.im)) : c128(z.re, nan);
  return {nan, nan};
}
TESSERA_HOST_DEVICE inline c128 expm1(c128 z) {
  const c128 w = exp(z);
  return {w.re - 1, w.im};
}

}  // namespace at_limits

// Annex G's product: infinite where a factor is, though parts of it would be NaN by the formula.
TESSERA_HOST_DEVICE inline c128 infinite_product(c128 a, c128 b) {
  const c128 plain = a * b;
  if (!is_nan(plain.re) || !is_nan(plain.im)) return plain;
  auto box = [](c128 z) {  // a corner of the unit square in the direction of z
    return c128(copysign(is_inf(z.re) ? 1.0 : 0.0, z.re), copysign(is_inf(z.im) ? 1.0 : 0.0, z.im));
  };
  auto without_nan = [](c128 z) {
    return c128(is_nan(z.re) ? copysign(0.0, z.re) : z.re,
                is_nan(z.im) ? copysign(0.0, z.im) : z.im);
  };
  const bool of_a = at_limits::is_infinite(a), of_b = at_limits::is_infinite(b);
  if (!of_a && !of_b) return plain;
  const c128 p = of_a ? box(a) : without_nan(a), q = of_b ? box(b) : without_nan(b);
  return {at_limits::infinity * (p.re * q.re - p.im * q.im),
          at_limits::infinity * (p.re * q.im + p.im * q.re)};
}

}  // namespace tessera::math
