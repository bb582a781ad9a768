// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points as CUDA kernels take them whose weights are polynomials: where the first neighbour along
// an axis lies, and the weights of all of them. The coefficients are those of the cpu.
//   PointOnAxis at = args.on_axis(2, 2, i);   args.weights<2>(...);

#include "tessera/kernels/interpolate/piecewise.hpp"
#include "tessera/kernels/interpolate/taps.hpp"

namespace tessera::cuda {

template <class R>
struct PointArgs;

// A point may lie on the grid: then both ends of an even kernel count, and it has a tap more.
struct PointOnAxis {
  int first = 0;  // neighbour, before the grid repeats
  bool on_grid = false;
  double fraction = 0;

  // Where the first neighbour lies, counted from cell `low`; of the places that a grid which
  // repeats gives it, the one from `width` before that cell on.
  template <class R>
  TESSERA_HOST_DEVICE int cell(const PointArgs<R>& args, int axis, int low) const {
    int at = first - low;
    if (!args.circular) return at;
    if (at < -args.width) at += args.size[axis];
    if (at >= args.size[axis] - args.width) at -= args.size[axis];
    return at;
  }
  // Whether the kernel has a tap in the `length` cells from `low` on.
  template <class R>
  TESSERA_HOST_DEVICE bool reaches(const PointArgs<R>& args, int axis, int low, int length) const {
    const int at = cell(args, axis, low);
    return at < length && at + args.width - (on_grid ? 0 : 1) >= 0;
  }
};

// Places along the axes of a region in one word, ten bits each, not negative.
inline constexpr int place_bits = 10, place_bias = 32;
inline constexpr unsigned place_on_grid = 1u << 30, place_not_finite = 1u << 31;
TESSERA_HOST_DEVICE inline int place_of(unsigned word, int axis) {
  return static_cast<int>(word >> ((2 - axis) * place_bits) & ((1u << place_bits) - 1)) -
         place_bias;
}

template <class R>
struct PointArgs {
  int width = 0, degree = 0;
  int size[3] = {1, 1, 1};  // of the grid
  bool circular = true;
  R edge = 1;  // the weight at both ends of the kernel
  const double* locs = nullptr;
  R coefficient[spread::max_degree + 1][spread::most_piecewise];

  PointArgs() = default;
  PointArgs(const SpreadKernel& kernel, const spread::PiecewiseKernel<R>& pieces, const Shape& grid)
      : width(pieces.width),
        degree(pieces.degree),
        circular(kernel.circular),
        edge(static_cast<R>(kernel.scale)) {  // times I0(0)
    for (i64 a = 0; a < grid.size(); ++a) size[a + 3 - grid.size()] = static_cast<int>(grid[a]);
    for (int d = 0; d <= spread::max_degree; ++d)
      for (int k = 0; k < spread::most_piecewise; ++k) coefficient[d][k] = pieces.coefficient[d][k];
  }

  // Axes count from 0 to 2, the last `dims` of which are there.
  TESSERA_HOST_DEVICE PointOnAxis on_axis(int axis, int dims, i64 point) const {
    const double loc = locs[point * dims + axis - 3 + dims], half = width / 2.0, edge = loc - half,
                 first = std::ceil(edge);
    PointOnAxis at;
    at.first = static_cast<int>(first);
    at.fraction = first - edge;
    at.on_grid = at.fraction <= 0 && first + width - loc <= half;
    return at;
  }

  // width + 1 weights along each axis, the last one for points on the grid.
  template <int Dims>
  TESSERA_HOST_DEVICE void weights(const PointOnAxis (&at)[3], R* z, R* y, R* x) const {
    R t[3];
    for (int a = 3 - Dims; a < 3; ++a) t[a] = static_cast<R>(2 * at[a].fraction - 1);
    for (int k = 0; k < width; ++k) {
      R v[3];
      for (int a = 3 - Dims; a < 3; ++a) v[a] = coefficient[0][k];
      for (int d = 1; d <= degree; ++d) {
        const R c = coefficient[d][k];
        for (int a = 3 - Dims; a < 3; ++a) v[a] = v[a] * t[a] + c;
      }
      x[k] = v[2];
      if constexpr (Dims > 1) y[k] = v[1];
      if constexpr (Dims > 2) z[k] = v[0];
    }
    x[width] = at[2].on_grid ? edge : R(0);
    if constexpr (Dims > 1) y[width] = at[1].on_grid ? edge : R(0);
    if constexpr (Dims > 2) z[width] = at[0].on_grid ? edge : R(0);
  }
};

}  // namespace tessera::cuda
