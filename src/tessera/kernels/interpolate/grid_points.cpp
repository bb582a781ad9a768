// SPDX-License-Identifier: Apache-2.0
// Points sorted by tiles of the grid: a counting sort in two passes, each shared by threads that
// take a part of the points. A part knows where its points of each tile go, so that the order is
// that of the numbers of the points, whatever the number of parts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"

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

Array uninitialised(const Shape& shape, DType dtype) {
  return Array(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
               dtype);
}

// One axis of the grid: where a location comes to lie, and in which tile.
struct AxisBins {
  double size, half, last;  // last: index of the grid's last point
  double tiles_per_point;
  double beyond;  // where a grid ends: as far off as locations are kept
  i64 tiles;
  bool circular;

  AxisBins(i64 n, double width, i64 length, i64 count, bool repeats)
      : size(static_cast<double>(n)),
        half(width / 2),
        last(static_cast<double>(n - 1)),
        tiles_per_point(1.0 / static_cast<double>(length)),
        beyond(width + 2),
        tiles(count),
        circular(repeats) {}

  // Into the grid where it repeats. Where it ends: what lies so far off that it has no neighbours
  // comes near, so that it stays a small number.
  double settled(double loc) const {
    if (!circular) return std::clamp(loc, -beyond, size + beyond);
    if (loc >= 0 && loc < size) return loc;
    const double wrapped = loc - size * std::floor(loc / size);
    return wrapped >= 0 && wrapped < size ? wrapped : 0;  // rounding may land on the end
  }
  // The tile of the first neighbour of a settled location.
  i64 tile(double loc) const {
    double first = std::ceil(loc - half);
    if (!circular)
      first = std::clamp(first, 0.0, last);
    else if (first < 0 || first >= size)
      first -= size * std::floor(first / size);
    // Half a point more keeps the product away from whole numbers, on the side where it belongs.
    return std::min(static_cast<i64>((first + 0.5) * tiles_per_point), tiles - 1);
  }
};

struct Sorter {
  std::vector<AxisBins> axes;
  const double* from;
  i64 count, tiles, parts;
  std::vector<i64> next;  // by part: how many points of each tile, then where the next one goes

  Sorter(const double* locations, i64 points, const Shape& grid, const SpreadKernel& kernel)
      : from(locations), count(points) {
    const SpreadTiles cut(grid, kernel);
    for (i64 a = 0; a < grid.size(); ++a)
      axes.push_back(
          AxisBins(grid[a], kernel.width[a], cut.length[a], cut.count[a], kernel.circular));
    tiles = count_of(cut.count);
    // Tables of all parts together take no more memory than the points.
    parts = std::clamp<i64>(count / std::max<i64>(tiles, 1 << 14), 1, num_threads());
    next.assign(static_cast<std::size_t>(parts * tiles), 0);
  }
  i64 begin(i64 part) const { return count / parts * part + std::min(part, count % parts); }
  i64* table(i64 part) { return next.data() + part * tiles; }

  // f(part, point, tile, settled location) for every point, parts at once.
  template <int Axes, class F>
  void each_of(const F& f) {
    parallel_for(parts, 1, [&](i64 first, i64 last) {
      for (i64 part = first; part < last; ++part)
        for (i64 i = begin(part); i < begin(part + 1); ++i) {
          double loc[Axes];
          i64 tile = 0;
          for (int a = 0; a < Axes; ++a) {
            const AxisBins& bins = axes[static_cast<std::size_t>(a)];
            loc[a] = bins.settled(from[i * Axes + a]);
            tile = tile * bins.tiles + bins.tile(loc[a]);
          }
          f(part, i, tile, loc);
        }
    });
  }
  template <class F>
  void each(const F& f) {
    if (axes.size() == 1) return each_of<1>(f);
    axes.size() == 2 ? each_of<2>(f) : each_of<3>(f);
  }

  void sort(i64* start, i64* order, double* locs) {
    each([this](i64 part, i64, i64 tile, const double*) { ++table(part)[tile]; });
    i64 total = 0;
    for (i64 t = 0; t < tiles; ++t) {
      start[t] = total;
      for (i64 part = 0; part < parts; ++part) {
        const i64 here = table(part)[t];
        table(part)[t] = total;
        total += here;
      }
    }
    start[tiles] = total;
    const i64 n = static_cast<i64>(axes.size());
    each([this, order, locs, n](i64 part, i64 i, i64 tile, const double* loc) {
      const i64 to = table(part)[tile]++;
      order[to] = i;
      for (i64 a = 0; a < n; ++a) locs[to * n + a] = loc[a];
    });
  }
};

void check_finite(const double* p, i64 count, i64 axes, std::string_view who) {
  constexpr double largest = std::numeric_limits<double>::max();
  i64 others = 0;
  for (i64 i = 0; i < count * axes; ++i) others += !(std::abs(p[i]) <= largest);
  if (others == 0) return;
  for (i64 i = 0; i < count * axes; ++i)
    require<ArgumentError>(std::isfinite(p[i]), who, ": location ", i / axes, " is ", p[i],
                           " along axis ", i % axes, "; locations must be finite");
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
  check_finite(dense.host<double>(), count, axes, who);
  Sorter sorter(dense.host<double>(), count, grid, p.kernel);
  p.starts = uninitialised({sorter.tiles + 1}, DType::i64);
  p.order = uninitialised({count}, DType::i64);
  p.locs = uninitialised({count, axes}, DType::f64);
  sorter.sort(p.starts.host<i64>(), p.order.host<i64>(), p.locs.host<double>());
  return p.to(given.device());
}

}  // namespace tessera
