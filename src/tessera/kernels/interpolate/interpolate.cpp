// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/interpolate.hpp"

#include <cmath>
#include <numeric>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

SpreadKernel checked_kernel(SpreadKernel k, i64 axes, std::string_view who) {
  require<ArgumentError>(k.width.size() == 1 || k.width.size() == axes, who, ": ", k.width.size(),
                         " widths for ", axes, " axes; expected one for all or one each");
  if (k.width.size() == 1) k.width = SmallVec<double, 3>(axes, k.width[0]);
  for (double w : k.width)
    require<ArgumentError>(w > 0 && w <= max_spread_width, who, ": width ", w,
                           " is not between 0 and ", max_spread_width, " grid points");
  require<ArgumentError>(k.norm == 1 || k.norm == 2, who, ": norm ", k.norm, " is not 1 or 2");
  require<ArgumentError>(k.beta >= 0 && k.beta <= max_spread_beta, who, ": beta ", k.beta,
                         " is not between 0 and ", max_spread_beta);
  return k;
}

// Into the grid where it repeats. Where it ends: what lies so far off that it has no neighbours
// comes near, so that it stays a small number.
double settled(double loc, i64 n, double width, bool circular) {
  const double size = static_cast<double>(n);
  if (!circular) return std::clamp(loc, -width - 2, size + width + 2);
  if (loc >= 0 && loc < size) return loc;
  const double wrapped = loc - size * std::floor(loc / size);
  return wrapped >= 0 && wrapped < size ? wrapped : 0;  // rounding may land on the end
}

void check_finite(const double* p, i64 count, i64 axes, std::string_view who) {
  for (i64 i = 0; i < count * axes; ++i)
    require<ArgumentError>(std::isfinite(p[i]), who, ": location ", i / axes, " is ", p[i],
                           " along axis ", i % axes, "; locations must be finite");
}

Array filled(const Shape& shape, DType dtype) {
  return Array(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
               dtype);
}

i64 tile_of(const double* loc, const Shape& grid, const SpreadKernel& k, const SpreadTiles& tiles) {
  i64 tile = 0;
  for (i64 a = 0; a < grid.size(); ++a) {
    i64 first = static_cast<i64>(std::ceil(loc[a] - k.width[a] / 2));
    if (k.circular)
      first = (first % grid[a] + grid[a]) % grid[a];
    else
      first = std::clamp<i64>(first, 0, grid[a] - 1);
    tile = tile * tiles.count[a] + std::min(first / tiles.length[a], tiles.count[a] - 1);
  }
  return tile;
}

}  // namespace

SpreadTiles::SpreadTiles(const Shape& grid, const SpreadKernel& kernel) {
  constexpr i64 wanted[] = {512, 32, 12};
  for (i64 a = 0; a < grid.size(); ++a) {
    const double width = kernel.width[kernel.width.size() == 1 ? 0 : a];
    length.push_back(std::max(wanted[grid.size() - 1], static_cast<i64>(std::ceil(width + 1))));
    count.push_back(std::max<i64>(1, grid[a] / length[a]));
  }
}

GridPoints GridPoints::to(Device d) const {
  GridPoints moved = *this;
  moved.locs = locs.to(d);
  moved.order = order.to(d);
  moved.starts = starts.to(d);
  return moved;
}

GridPoints make_grid_points(const Array& given, const Shape& grid, const SpreadKernel& kernel,
                            std::string_view who) {
  const i64 axes = grid.size();
  require<ShapeError>(axes >= 1 && axes <= 3, who, ": a grid of ", axes,
                      " axes; expected one to three");
  for (i64 n : grid)
    require<ShapeError>(n >= 1, who, ": a grid of shape ", grid, " holds no point");
  require<ShapeError>(given.ndim() >= 1 && given.shape(given.ndim() - 1) == axes, who,
                      ": locations of shape ", given.shape(), " for a grid of ", axes,
                      " axes; expected (..., ", axes, ")");
  require<DTypeError>(!is_complex(given.dtype()) && given.dtype() != DType::b1, who,
                      ": locations of ", name(given.dtype()), "; expected real numbers");
  GridPoints p{grid, checked_kernel(kernel, axes, who), {}, {}, {}};
  const i64 count = given.size() / axes;
  const Array dense = given.to(cpu).astype(DType::f64).contiguous();
  const double* from = dense.host<double>();
  check_finite(from, count, axes, who);

  const SpreadTiles tiles(grid, p.kernel);
  std::vector<i64> tile(static_cast<std::size_t>(count));
  const Array starts = filled({count_of(tiles.count) + 1}, DType::i64),
              order = filled({count}, DType::i64), locs = filled({count, axes}, DType::f64);
  i64* start = starts.host<i64>();
  std::fill_n(start, starts.size(), 0);
  for (i64 i = 0; i < count; ++i) {
    double loc[3];
    for (i64 a = 0; a < axes; ++a)
      loc[a] = settled(from[i * axes + a], grid[a], p.kernel.width[a], p.kernel.circular);
    tile[static_cast<std::size_t>(i)] = tile_of(loc, grid, p.kernel, tiles);
    ++start[tile[static_cast<std::size_t>(i)] + 1];
  }
  std::partial_sum(start, start + starts.size(), start);
  std::vector<i64> next(start, start + starts.size());
  for (i64 i = 0; i < count; ++i) {
    const i64 to = next[static_cast<std::size_t>(tile[static_cast<std::size_t>(i)])]++;
    order.host<i64>()[to] = i;
    for (i64 a = 0; a < axes; ++a)
      locs.host<double>()[to * axes + a] =
          settled(from[i * axes + a], grid[a], p.kernel.width[a], p.kernel.circular);
  }
  p.locs = locs;
  p.order = order;
  p.starts = starts;
  return p.to(given.device());
}

Array interpolate(const Array& values, const GridPoints& p) {
  const i64 axes = p.grid.size(), batch = values.ndim() - axes;
  require<ShapeError>(
      batch >= 0 && Shape(values.shape().begin() + batch, values.shape().end()) == p.grid,
      "interpolate: values of shape ", values.shape(), " on a grid of shape ", p.grid);
  Shape shape(values.shape().begin(), values.shape().begin() + batch);
  shape.push_back(p.count());
  const Array out = Array::empty(shape, values.dtype(), values.device());
  const InterpolateSpec spec{false, operand_of(values), operand_of(out), batch, p.kernel};
  launch_now(&KernelTable::interpolate, "interpolate", spec, values.device(),
             {&values, &p.locs, &p.order, &out});
  return out;
}

Array interpolate_adjoint(const Array& values, const GridPoints& p) {
  const i64 batch = values.ndim() - 1;
  require<ShapeError>(batch >= 0 && values.shape(batch) == p.count(),
                      "interpolate_adjoint: values of shape ", values.shape(), " for ", p.count(),
                      " points");
  Shape shape(values.shape().begin(), values.shape().begin() + batch);
  shape.append(p.grid);
  const Array out = zeros(shape, values.dtype(), values.device());
  const InterpolateSpec spec{true, operand_of(out), operand_of(values), batch, p.kernel};
  launch_now(&KernelTable::interpolate, "interpolate", spec, values.device(),
             {&values, &p.locs, &p.order, &p.starts, &out});
  return out;
}

}  // namespace tessera
