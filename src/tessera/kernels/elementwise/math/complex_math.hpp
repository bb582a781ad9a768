// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mathematical functions of Complex<float> and Complex<double>, beside those of float and double
// under the same names (real_math.hpp), usable by g++ and nvcc alike. Complex<float> is computed in
// double and rounded; Complex<double> follows Kahan's branch cuts (signed zeros tell the side).
// Accurate to a few units in the last place of the larger part, not of each.
//   c128 w = math::sqrt(z);

#include "tessera/kernels/elementwise/math/complex_limits.hpp"

namespace tessera::math {

TESSERA_HOST_DEVICE inline c128 times_i(c128 z) { return {-z.im, z.re}; }
TESSERA_HOST_DEVICE inline c128 times_minus_i(c128 z) { return {z.im, -z.re}; }

TESSERA_HOST_DEVICE inline double absolute(c128 z) { return hypot(z.re, z.im); }
TESSERA_HOST_DEVICE inline float absolute(c64 z) {
  const double re = z.re, im = z.im, r = sqrt(re * re + im * im);  // exact squares: no overflow
  return static_cast<float>(is_inf(re) || is_inf(im) ? std::numeric_limits<double>::infinity() : r);
}

TESSERA_HOST_DEVICE inline c128 sqrt(c128 z) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (z.re == 0 && z.im == 0) return {0.0, z.im};
  if (is_inf(z.im)) return {infinity, z.im};
  if (is_inf(z.re))
    return z.re > 0 ? c128(z.re, copysign(z.im - z.im, z.im))
                    : c128(fabs(z.im - z.im), copysign(z.re, z.im));
  double up = 1, down = 1;  // keep hypot and the sum away from overflow and from subnormal numbers
  if (fabs(z.re) > 1e300 || fabs(z.im) > 1e300) {
    up = 0.25;
    down = 2;
  } else if (fabs(z.re) < 1e-290 && fabs(z.im) < 1e-290) {
    up = 0x1p108;
    down = 0x1p-54;
  }
  const double re = z.re * up, im = z.im * up;
  const double t = sqrt(0.5 * (fabs(re) + hypot(re, im)));
  const double other = fabs(im) / (2 * t);
  return re >= 0 ? c128(t * down, copysign(other * down, im))
                 : c128(other * down, copysign(t * down, im));
}

TESSERA_HOST_DEVICE inline c128 exp(c128 z) {
  if (z.im == 0) return {exp(z.re), z.im};
  if (!is_finite(z.im)) return at_limits::exp(z);
  const double half = exp(0.5 * z.re);  // twice the half: no overflow while the product is finite
  return {half * (half * cos(z.im)), half * (half * sin(z.im))};
}

TESSERA_HOST_DEVICE inline c128 exp2(c128 z) {
  constexpr double log_2 = 0.69314718055994530942;
  return exp(c128(z.re * log_2, z.im * log_2));
}

TESSERA_HOST_DEVICE inline c128 expm1(c128 z) {
  if (!is_finite(z.im)) return at_limits::expm1(z);
  const double s = sin(0.5 * z.im);
  // The zero that is added makes a negative one positive.
  return {expm1(z.re) * cos(z.im) - 2 * s * s + 0.0, z.im == 0 ? z.im : exp(z.re) * sin(z.im)};
}

TESSERA_HOST_DEVICE inline c128 log(c128 z) {
  const double x = fabs(z.re), y = fabs(z.im), a = x < y ? y : x, b = x < y ? x : y;
  const double angle = arctan2(z.im, z.re);
  if (a > 1e300) return {log(hypot(0.5 * a, 0.5 * b)) + 0.69314718055994530942, angle};
  if (a > 0.5 && a < 2 && b < 2) return {0.5 * log1p((a - 1) * (a + 1) + b * b), angle};
  return {log(hypot(a, b)), angle};
}
TESSERA_HOST_DEVICE inline c128 log2(c128 z) {
  const c128 w = log(z);
  return {w.re * 1.44269504088896340736, w.im * 1.44269504088896340736};
}
TESSERA_HOST_DEVICE inline c128 log10(c128 z) {
  const c128 w = log(z);
  return {w.re * 0.43429448190325182765, w.im * 0.43429448190325182765};
}
TESSERA_HOST_DEVICE inline c128 log1p(c128 z) {
  const double angle = arctan2(z.im, z.re + 1);
  if (fabs(z.re) < 0.5 && fabs(z.im) < 0.5)
    return {0.5 * log1p(z.re * (2 + z.re) + z.im * z.im), angle};
  return {log(c128(z.re + 1, z.im)).re, angle};
}

TESSERA_HOST_DEVICE inline c128 sinh(c128 z) {
  if (z.im == 0) return {sinh(z.re), z.im};
  if (!is_finite(z.im)) return at_limits::sinh(z);
  if (fabs(z.re) > 700) {  // sinh and cosh would overflow before the products do
    const double half = exp(0.5 * fabs(z.re));
    return {copysign(0.5 * half, z.re) * cos(z.im) * half, 0.5 * half * sin(z.im) * half};
  }
  return {sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)};
}
TESSERA_HOST_DEVICE inline c128 cosh(c128 z) {
  if (z.im == 0) return {cosh(z.re), is_nan(z.re) ? z.im : copysign(1.0, z.re) * z.im};
  if (!is_finite(z.im)) return at_limits::cosh(z);
  if (fabs(z.re) > 700) {
    const double half = exp(0.5 * fabs(z.re));
    return {0.5 * half * cos(z.im) * half, copysign(0.5 * half, z.re) * sin(z.im) * half};
  }
  return {cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)};
}
TESSERA_HOST_DEVICE inline c128 tanh(c128 z) {
  if (z.im == 0) return {tanh(z.re), z.im};
  if (is_inf(z.re) || !is_finite(z.im)) return at_limits::tanh(z);
  if (fabs(z.re) > 22) {  // 1 - tanh is below the last bit
    const double e = exp(-fabs(z.re));
    return {copysign(1.0, z.re), 4 * sin(z.im) * cos(z.im) * e * e};
  }
  const double t = tan(z.im), beta = 1 + t * t, s = sinh(z.re), rho = sqrt(1 + s * s);
  if (is_inf(t)) return {rho / s, 1 / t};
  const double d = 1 + beta * s * s;
  return {beta * rho * s / d, t / d};
}
TESSERA_HOST_DEVICE inline c128 sin(c128 z) { return times_minus_i(sinh(times_i(z))); }
TESSERA_HOST_DEVICE inline c128 cos(c128 z) { return cosh(times_i(z)); }
TESSERA_HOST_DEVICE inline c128 tan(c128 z) { return times_minus_i(tanh(times_i(z))); }

// Beyond this modulus the squares inside would overflow and arcsinh(z) = log(2 z) to the last bit.
TESSERA_HOST_DEVICE inline bool is_huge(c128 z) { return fabs(z.re) > 1e150 || fabs(z.im) > 1e150; }

TESSERA_HOST_DEVICE inline c128 arcsin(c128 z) {
  if (!is_finite(z)) return at_limits::arcsin(z);
  if (is_huge(z)) {
    const double r = log(z).re + 0.69314718055994530942;
    return {arctan2(z.re, fabs(z.im)), copysign(r, z.im)};
  }
  const c128 a = sqrt(c128(1 - z.re, -z.im)), b = sqrt(c128(1 + z.re, z.im));
  return {arctan2(z.re, (a * b).re), arcsinh((conj(a) * b).im)};
}
TESSERA_HOST_DEVICE inline c128 arccos(c128 z) {
  if (!is_finite(z)) return at_limits::arccos(z);
  if (is_huge(z)) {
    const double r = log(z).re + 0.69314718055994530942;
    return {arctan2(fabs(z.im), z.re), copysign(r, -z.im)};
  }
  const c128 a = sqrt(c128(1 - z.re, -z.im)), b = sqrt(c128(1 + z.re, z.im));
  return {2 * arctan2(a.re, b.re), arcsinh((conj(b) * a).im)};
}
TESSERA_HOST_DEVICE inline c128 arccosh(c128 z) {
  if (!is_finite(z)) return at_limits::arccosh(z);
  if (is_huge(z)) return {log(z).re + 0.69314718055994530942, arctan2(z.im, z.re)};
  const c128 a = sqrt(c128(z.re - 1, z.im)), b = sqrt(c128(z.re + 1, z.im));
  return {arcsinh((conj(a) * b).re), 2 * arctan2(a.im, b.re)};
}
TESSERA_HOST_DEVICE inline c128 arcsinh(c128 z) { return times_minus_i(arcsin(times_i(z))); }
TESSERA_HOST_DEVICE inline c128 arctanh(c128 z) {
  if (!is_finite(z)) return at_limits::arctanh(z);
  if (is_huge(z)) {
    const double h = hypot(0.5 * z.re, 0.5 * z.im);
    return {0.25 * (z.re / h) / h, copysign(at_limits::half_pi, z.im)};
  }
  const double u = 1 - z.re, d = u * u + z.im * z.im;
  const double wide = (1 + z.re) * (1 + z.re) + z.im * z.im;
  // log1p of the ratio minus one, taken on the side where it is positive: no cancellation.
  double re = z.re >= 0 ? 0.25 * log1p(4 * z.re / d) : -0.25 * log1p(-4 * z.re / wide);
  if (fabs(z.re) == 1 && z.im != 0 && fabs(z.im) < 1e-150)  // of which the square is nothing
    re = copysign(0.5 * (0.69314718055994530942 - log(fabs(z.im))), z.re);
  return {z.re == 0 ? z.re : re, 0.5 * arctan2(2 * z.im, u * (1 + z.re) - z.im * z.im)};
}
TESSERA_HOST_DEVICE inline c128 arctan(c128 z) { return times_minus_i(arctanh(times_i(z))); }

TESSERA_HOST_DEVICE inline c128 pow(c128 a, c128 b) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (b.re == 0 && b.im == 0) return {1.0, 0.0};
  if (a.re == 0 && a.im == 0) return b.re > 0 ? c128(0.0, 0.0) : c128(nan, nan);
  if (b.im == 0 && b.re == trunc(b.re) && fabs(b.re) < 100) {  // exact products for small integers
    if (b.re == 1) return a;  // no factor of one, whose zero would meet infinities
    if (b.re == 2) return a * a;
    if (b.re == 3) return a * (a * a);
    int n = static_cast<int>(fabs(b.re));
    c128 power = a, result(1.0, 0.0);
    for (; n > 0; n >>= 1, power = power * power)
      if (n & 1) result = result * power;
    return b.re < 0 ? c128(1.0, 0.0) / result : result;
  }
  return exp(infinite_product(b, log(a)));
}

#define TESSERA_IN_DOUBLE(name) \
  TESSERA_HOST_DEVICE inline c64 name(c64 z) { return c64(name(c128(z))); }
TESSERA_IN_DOUBLE(sqrt)
TESSERA_IN_DOUBLE(exp)
TESSERA_IN_DOUBLE(exp2)
TESSERA_IN_DOUBLE(expm1)
TESSERA_IN_DOUBLE(log)
TESSERA_IN_DOUBLE(log2)
TESSERA_IN_DOUBLE(log10)
TESSERA_IN_DOUBLE(log1p)
TESSERA_IN_DOUBLE(sin)
TESSERA_IN_DOUBLE(cos)
TESSERA_IN_DOUBLE(tan)
TESSERA_IN_DOUBLE(arcsin)
TESSERA_IN_DOUBLE(arccos)
TESSERA_IN_DOUBLE(arctan)
TESSERA_IN_DOUBLE(sinh)
TESSERA_IN_DOUBLE(cosh)
TESSERA_IN_DOUBLE(tanh)
TESSERA_IN_DOUBLE(arcsinh)
TESSERA_IN_DOUBLE(arccosh)
TESSERA_IN_DOUBLE(arctanh)
#undef TESSERA_IN_DOUBLE
TESSERA_HOST_DEVICE inline c64 pow(c64 a, c64 b) { return c64(pow(c128(a), c128(b))); }

}  // namespace tessera::math
