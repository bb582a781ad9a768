// SPDX-License-Identifier: Apache-2.0
#pragma once
// The neighbours of a point along each axis and their weights: arithmetic that the host and CUDA
// share, so that both keep the same neighbours. One- and two-dimensional grids are volumes whose
// first axes have one point of weight one.
//   int n = shape.axis(2, loc, weight, index);   R w = shape.value(s);

#include <cmath>
#include <limits>

#include "tessera/base/real_of.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"

namespace tessera::spread {

inline constexpr int max_taps = 64, max_terms = 96;

template <class R>
struct SpreadShape {
  double half[3] = {0, 0, 0}, inverse[3] = {1, 1, 1};  // half widths; 0: an axis that is not there
  i64 size[3] = {1, 1, 1};
  int axes = 3, terms = 0;
  bool spline = false, euclidean = false, circular = true;
  // Note [Kaiser-Bessel]: I0(beta sqrt(t)) is a power series in t = 1 - u^2 with positive
  // terms, so Horner's rule keeps full relative precision; no square root, no Bessel function.
  R term[max_terms];

  SpreadShape(const Shape& grid, const SpreadKernel& kernel)
      : axes(static_cast<int>(grid.size())),
        spline(kernel.kind == SpreadKind::spline),
        euclidean(kernel.norm == 2),
        circular(kernel.circular) {
    for (int a = 0; a < axes; ++a) {
      const double width = kernel.width[a];
      half[a + 3 - axes] = width / 2;
      inverse[a + 3 - axes] = 2 / width;
      size[a + 3 - axes] = grid[a];
    }
    const double q = kernel.beta * kernel.beta / 4;
    double coefficient = kernel.scale, sum = coefficient;
    term[0] = static_cast<R>(coefficient);
    for (terms = 1; terms < max_terms && !spline; ++terms) {
      coefficient *= q / (static_cast<double>(terms) * terms);
      if (coefficient < sum * std::numeric_limits<R>::epsilon() / 16 && terms * terms > 2 * q)
        break;
      term[terms] = static_cast<R>(coefficient);
      sum += coefficient;
    }
  }

  // The kernel at squared distance s, in half widths; zero beyond one.
  TESSERA_HOST_DEVICE R value(R s) const {
    R t = R(1) - s;
    // Rounding must not drop what lies on the edge.
    if (t < -8 * std::numeric_limits<R>::epsilon()) return R(0);
    t = t < R(0) ? R(0) : t;
    if (spline) return t > R(0) ? R(1) - std::sqrt(s) : R(0);
    R v = term[terms - 1];
    for (int k = terms - 2; k >= 0; --k) v = v * t + term[k];
    return v;
  }

  // Neighbours along axis a of a point at loc: how many, their indices, and what they bring, which
  // is a weight, or a squared distance for the Euclidean norm.
  TESSERA_HOST_DEVICE int axis(int a, double loc, R* weight, i64* index) const {
    if (a < 3 - axes) {
      weight[0] = euclidean ? R(0) : R(1);
      index[0] = 0;
      return 1;
    }
    int count = 0;
    const i64 n = size[a];
    for (i64 g = static_cast<i64>(std::ceil(loc - half[a])); count < max_taps; ++g) {
      const double distance = static_cast<double>(g) - loc;
      if (distance > half[a]) break;
      i64 at = g;
      if (circular) {
        while (at < 0) at += n;
        while (at >= n) at -= n;
      } else if (at < 0 || at >= n) {
        continue;
      }
      const R u = static_cast<R>(distance * inverse[a]);
      weight[count] = euclidean ? u * u : value(u * u);
      index[count++] = at;
    }
    return count;
  }
};

using tessera::RealOf;

template <class T>
TESSERA_HOST_DEVICE inline T scaled(const T& v, const typename RealOf<T>::type& w) {
  if constexpr (is_complex_v<T>)
    return T(v.re * w, v.im * w);
  else
    return v * w;
}

}  // namespace tessera::spread
