// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera::nufft {
namespace {

constexpr int narrowest = 2, widest = 16;
constexpr double oversamplings[] = {1.25, 1.5, 2};
// By width; the test of this file computes them from the definition of the kernel.
constexpr double errors[][widest - narrowest + 1] = {
    {2.5e-1, 4.6e-2, 7.3e-3, 1.4e-3, 4.6e-4, 9.1e-5, 1.8e-5, 4.6e-6, 1.2e-6, 2.7e-7, 6.4e-8, 1.6e-8,
     3.9e-9, 9.8e-10, 2.3e-10},
    {1.6e-1, 2.1e-2, 1.9e-3, 3.4e-4, 5.8e-5, 6.6e-6, 1.0e-6, 1.8e-7, 2.8e-8, 4.3e-9, 7.6e-10,
     1.2e-10, 1.9e-11, 3.1e-12, 5.3e-13},
    {9.8e-2, 7.4e-3, 5.2e-4, 7.4e-5, 6.1e-6, 6.3e-7, 7.4e-8, 6.6e-9, 7.4e-10, 7.6e-11, 8.4e-12,
     8.6e-13, 9.4e-14, 1.2e-14, 6.7e-15}};

// Nanoseconds of one thread, measured: a point of the padded grid costs its share of the FFT and
// of the passes around it, a neighbour of a point one multiplication and addition.
constexpr double grid_cost = 8, tap_cost = 1.5;

double cost(const Shape& grid, i64 points, const KernelChoice& k) {
  double taps = static_cast<double>(points);
  for (i64 a = 0; a < grid.size(); ++a) taps *= k.width;
  return grid_cost * static_cast<double>(count_of(padded_size(grid, k.oversamp, k.width))) +
         tap_cost * taps;
}

}  // namespace

double kernel_error(int width, double oversamp) {
  const auto* at = std::find(std::begin(oversamplings), std::end(oversamplings), oversamp);
  require<ArgumentError>(width >= narrowest && width <= widest && at != std::end(oversamplings),
                         "NUFFT: the error of width ", width, " and oversamp ", oversamp,
                         " is not known; expected a width from ", narrowest, " to ", widest,
                         " and an oversamp of 1.25, 1.5 or 2");
  return errors[at - std::begin(oversamplings)][width - narrowest];
}

KernelChoice kernel_for(double tolerance, const Shape& grid, i64 points, std::string_view who) {
  require<ArgumentError>(tolerance >= least_tolerance && tolerance < 1, who, ": tol ", tolerance,
                         " is out of reach; expected at least ", least_tolerance,
                         ", which is reached in double precision, and less than 1");
  // Errors of the axes add up as independent ones do. Small images weigh their edges, where errors
  // are largest, more than the mean does: hence twice that. Points of a line that lie close together
  // have few independent values, which cancel now and then while their errors do not: the chance
  // falls as the square of what is left, hence twice that again.
  const double margin = grid.size() == 1 ? 4 : 2;
  const double allowed = tolerance / (margin * std::sqrt(static_cast<double>(grid.size())));
  KernelChoice best{0, 0};
  double least = std::numeric_limits<double>::infinity();
  for (double oversamp : oversamplings)
    for (int width = narrowest; width <= widest; ++width) {
      if (kernel_error(width, oversamp) > allowed) continue;
      const KernelChoice k{oversamp, static_cast<double>(width)};
      if (const double c = cost(grid, points, k); c < least) {
        least = c;
        best = k;
      }
      break;
    }
  return best;
}

NormalCost normal_cost(const Shape& grid, i64 points, const KernelChoice& kernel) {
  return {2 * cost(grid, points, kernel),
          2 * grid_cost * static_cast<double>(count_of(padded_size(grid, 2)))};
}

NufftOptions options_for(double tolerance, const Shape& grid, i64 points) {
  const KernelChoice kernel = kernel_for(tolerance, grid, points);
  NufftOptions o;
  o.oversamp = kernel.oversamp;
  o.width = kernel.width;
  o.toeplitz = normal_cost(grid, points, kernel).prefers_toeplitz();
  o.chosen_by_cost = true;
  return o;
}

}  // namespace tessera::nufft
