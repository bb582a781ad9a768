// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where locations come to lie along one axis of a grid: on the host in vector registers, a block of
// points at a time; on other devices by operations of arrays, one after another, so to the same
// numbers: a product is divided before anything is added, so that no compiler fuses the two.
// Private to the sorting of points.
//   AxisPositions along(n, width, circular, image, 0);   along.settle<2>(locs + axis, count, x);

#include <algorithm>
#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"

namespace tessera::spread {

struct AxisPositions {
  double size;         // of the grid
  double image, zero;  // image 0: locations are positions
  double beyond;       // where a grid ends: as far off as locations are kept
  bool circular;

  AxisPositions(i64 n, double width, bool repeats, i64 of_image, i64 at_zero)
      : size(static_cast<double>(n)),
        image(static_cast<double>(of_image)),
        zero(static_cast<double>(at_zero)),
        beyond(width + 2),
        circular(repeats) {}

  // x[i] of given[i * Axes]. Into the grid where it repeats. Where it ends: what lies so far off
  // that it has no neighbours comes near, so that it stays a small number. What is no number, which
  // nobody has refused when an array changed after it was checked, becomes a place as well.
  template <int Axes>
  void settle(const double* given, i64 count, double* x) const {
    const double n = size, from = image, origin = zero, last = size + beyond, first = -beyond;
    if (from > 0)
      for (i64 i = 0; i < count; ++i) x[i] = given[i * Axes] * n / from + origin;
    else
      for (i64 i = 0; i < count; ++i) x[i] = given[i * Axes];
    if (!circular) {
      for (i64 i = 0; i < count; ++i) x[i] = std::min(last, std::max(first, x[i]));
      return;
    }
    i64 far = 0;
    for (i64 i = 0; i < count; ++i) far += !(x[i] >= -n && x[i] < 2 * n);
    for (i64 i = 0; i < count && far > 0; ++i) x[i] = from_afar(x[i]);
    for (i64 i = 0; i < count; ++i) {
      const double in = x[i] < 0 ? x[i] + n : x[i] >= n ? x[i] - n : x[i];
      x[i] = in < n ? in : 0;  // rounding may land on the end
    }
  }

 private:
  double from_afar(double x) const {
    const double in = x - size * std::floor(x / size);
    return in >= 0 && in < size ? in : 0;
  }
};

// Numbers of the axes in rows on a device: each of them goes with (count, axes) locations. Sent
// together, as transfers of a few bytes take as long as one.
template <class Axis>
Array rows_of_axes(const std::vector<Axis>& axes, Device where,
                   std::initializer_list<double (*)(const Axis&)> rows) {
  const i64 across = static_cast<i64>(axes.size());
  const Array here = empty_dense({static_cast<i64>(rows.size()), across}, DType::f64);
  double* to = here.host<double>();
  for (const auto& number : rows)
    for (const Axis& a : axes) *to++ = number(a);
  return here.to(where);
}

std::vector<AxisPositions> positions_of_axes(const Shape& grid, const SpreadKernel& kernel,
                                             const Frequencies& of);
// The same of float64 (count, axes) where they are.
Array settled_there(const Array& locs, const std::vector<AxisPositions>& axes);
// x modulo n, which may lie at n or a little outside by rounding.
Array in_period(const Array& x, const Array& n);

}  // namespace tessera::spread
