// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/positions.hpp"

#include <array>
#include <atomic>
#include <limits>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace spread {

std::vector<AxisPositions> positions_of_axes(const Shape& grid, const SpreadKernel& kernel,
                                             const Frequencies& of) {
  std::vector<AxisPositions> axes;
  for (i64 a = 0; a < grid.size(); ++a)
    axes.emplace_back(grid[a], kernel.width[kernel.width.size() == 1 ? 0 : a], kernel.circular,
                      of.image.empty() ? 0 : of.image[a], of.zero.empty() ? 0 : of.zero[a]);
  return axes;
}

Array in_period(const Array& x, const Array& n) {
  return ops::subtract(x, ops::multiply(ops::floor(ops::divide(x, n)), n));
}

Array settled_there(const Array& locs, const std::vector<AxisPositions>& axes) {
  using A = AxisPositions;
  const Array rows =
      rows_of_axes<A>(axes, locs.device(),
                      {[](const A& a) { return a.size; }, [](const A& a) { return a.image; },
                       [](const A& a) { return a.zero; }, [](const A& a) { return -a.beyond; },
                       [](const A& a) { return a.size + a.beyond; }});
  const Array n = rows.select(0, 0);
  Array x = locs;
  if (axes.front().image > 0)
    x = ops::add(ops::divide(ops::multiply(x, n), rows.select(0, 1)), rows.select(0, 2));
  if (!axes.front().circular) {
    const Array first = rows.select(0, 3);
    return ops::minimum(ops::where(ops::greater(x, first), x, first), rows.select(0, 4));
  }
  x = in_period(x, n);
  return ops::where(ops::logical_and(ops::greater_equal(x, 0.0), ops::less(x, n)), x, 0.0);
}

namespace {

std::array<double, 3> limits_of(const Shape& grid, const Frequencies& of) {
  std::array<double, 3> limits;
  limits.fill(std::numeric_limits<double>::max());
  // Rounding of single precision and of scales takes points on the rim a little past it.
  for (i64 a = 0; a < of.image.size() && !of.wrap; ++a)
    limits[static_cast<std::size_t>(a)] = static_cast<double>(of.image[a]) / 2 * (1 + 1e-5);
  return limits;
}

template <int Axes>
i64 beyond_limits(const double* locs, i64 begin, i64 end, const std::array<double, 3>& limits) {
  i64 others = 0;
  wide([=, to = &others] {
    i64 here = 0;
    for (i64 i = begin; i < end; ++i)
      for (int a = 0; a < Axes; ++a)
        here += !(std::abs(locs[i * Axes + a]) <= limits[static_cast<std::size_t>(a)]);
    *to = here;
  });
  return others;
}

bool all_within(const Array& dense, i64 axes, const std::array<double, 3>& limits) {
  if (dense.size() == 0) return true;
  if (dense.device() != cpu) {
    const Array here = empty_dense({axes}, DType::f64);
    std::copy_n(limits.begin(), axes, here.host<double>());
    const Array within = ops::less_equal(ops::absolute(dense), here.to(dense.device()));
    return reduce(ReduceOp::all, within).item().as<bool>();
  }
  const double* const locs = dense.host<double>();
  std::atomic<bool> all = true;
  parallel_for(dense.size() / axes, 1 << 15, [&](i64 begin, i64 end) {
    const i64 others = axes == 1   ? beyond_limits<1>(locs, begin, end, limits)
                       : axes == 2 ? beyond_limits<2>(locs, begin, end, limits)
                                   : beyond_limits<3>(locs, begin, end, limits);
    if (others > 0) all = false;
  });
  return all;
}

}  // namespace
}  // namespace spread

void check_locations(const Array& locs, const Shape& grid, std::string_view who,
                     const Frequencies& of) {
  const i64 axes = grid.size();
  const std::array<double, 3> limits = spread::limits_of(grid, of);
  const Array dense = locs.astype(DType::f64).contiguous();
  const Array rows = dense.reshape({dense.size() / axes, axes});
  if (spread::all_within(rows, axes, limits)) return;
  const Array here = rows.to(cpu).contiguous();
  const double* x = here.host<double>();
  for (i64 i = 0; i < here.size(); ++i) {
    const i64 a = i % axes;
    require<ArgumentError>(std::isfinite(x[i]), who, ": location ", i / axes, " is ", x[i],
                           " along axis ", a, "; locations must be finite");
    if (std::abs(x[i]) <= limits[static_cast<std::size_t>(a)]) continue;
    const double half = static_cast<double>(of.image[a]) / 2;
    throw ArgumentError(cat(who, ": location ", i / axes, " is ", x[i], " along axis ", a, " of ",
                            of.image[a], " points; expected cycles per field of view, from ", -half,
                            " to ", half, " (wrap=True takes ", x[i], " as a frequency within)"));
  }
}

Array grid_positions(const Array& locs, const Shape& grid, const Frequencies& of) {
  const std::vector<spread::AxisPositions> axes = spread::positions_of_axes(grid, {}, of);
  const i64 across = grid.size();
  const Array dense = locs.astype(DType::f64).contiguous();
  if (dense.device() != cpu)
    return spread::settled_there(dense.reshape({dense.size() / across, across}), axes)
        .reshape(locs.shape());
  const Array all = empty_dense(locs.shape(), DType::f64);
  const double* const from = dense.host<double>();
  double* const to = all.host<double>();
  constexpr i64 block = 256;
  parallel_for(dense.size() / across, 1 << 13, [&](i64 begin, i64 end) {
    for (i64 a = 0; a < across; ++a)
      wide([=, along = axes[static_cast<std::size_t>(a)]] {
        double given[block], x[block];
        for (i64 first = begin; first < end; first += block) {
          const i64 n = std::min(block, end - first);
          for (i64 i = 0; i < n; ++i) given[i] = from[(first + i) * across + a];
          along.settle<1>(given, n, x);
          for (i64 i = 0; i < n; ++i) to[(first + i) * across + a] = x[i];
        }
      });
  });
  return all;
}

}  // namespace tessera
