// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Kaiser-Bessel weights of a point's neighbours along one axis, as polynomials of where the
// point lies between two grid points: one polynomial for each neighbour, all evaluated side by side
// in vector registers. As exact as the precision R; see taps.hpp for the definition of the kernel.
//   PiecewiseKernel<float> k(kernel);
//   v[t] = (k.coefficient[0][t] x + k.coefficient[1][t]) x + ...   with x = 2 fraction - 1
// `fraction` is ceil(loc - W/2) - (loc - W/2): how far the first neighbour lies inside the kernel.

#include <cmath>
#include <limits>

#include "tessera/kernels/interpolate/interpolate.hpp"

namespace tessera::spread {

inline constexpr int least_piecewise = 2, most_piecewise = 16, max_degree = 20;

// Whole widths, the same for all axes, of kernels that are products over the axes.
inline bool is_piecewise(const SpreadKernel& k) {
  if (k.kind != SpreadKind::kaiser_bessel || k.norm != 1) return false;
  for (double w : k.width)
    if (w != k.width[0]) return false;
  return k.width[0] == std::floor(k.width[0]) && k.width[0] >= least_piecewise &&
         k.width[0] <= most_piecewise;
}

template <class R>
struct TESSERA_API PiecewiseKernel {
  int width = 0, degree = 0;
  bool exact = false;                                              // the largest degree was enough
  alignas(64) R coefficient[max_degree + 1][most_piecewise] = {};  // highest power first

  explicit PiecewiseKernel(const SpreadKernel& kernel);
};

extern template struct TESSERA_API PiecewiseKernel<float>;
extern template struct TESSERA_API PiecewiseKernel<double>;

}  // namespace tessera::spread
