// SPDX-License-Identifier: Apache-2.0
// Points sorted by tiles of the grid. On the host: a counting sort in two passes, each shared by
// threads that take a part of the points. A part knows where its points of each tile go, so that the
// order is that of the numbers of the points, whatever the number of parts. On other devices: the
// stable sort that arrays have there, which gives the same order. Inside a tile, points are in order
// of its cells, in which tiles of more than one axis are cut: what is read for one point is still
// near when the next one comes.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/wide.hpp"

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
  require<ArgumentError>(k.scale > 0 && k.scale <= 1, who, ": scale ", k.scale,
                         " is not above 0 and at most 1");
  return k;
}

Array uninitialised(const Shape& shape, DType dtype) {
  return Array(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
               dtype);
}

// One axis of the grid: where a location comes to lie, and in which tile.
struct AxisBins {
  double size, half, last;  // last: index of the grid's last point
  double cells_per_point;
  double beyond;  // where a grid ends: as far off as locations are kept
  i64 tiles, cells_per_tile;
  int shift;  // cells_per_tile as a power of two: points are many, and divisions slow
  bool circular;

  AxisBins(i64 n, double width, i64 length, i64 count, i64 cells, bool repeats)
      : size(static_cast<double>(n)),
        half(width / 2),
        last(static_cast<double>(n - 1)),
        cells_per_point(static_cast<double>(cells) / static_cast<double>(length)),
        beyond(width + 2),
        tiles(count),
        cells_per_tile(cells),
        shift(std::countr_zero(static_cast<std::uint64_t>(cells))),
        circular(repeats) {}

  // Into the grid where it repeats. Where it ends: what lies so far off that it has no neighbours
  // comes near, so that it stays a small number.
  double settled(double loc) const {
    if (!circular) return std::clamp(loc, -beyond, size + beyond);
    if (loc >= 0 && loc < size) return loc;
    const double wrapped = loc - size * std::floor(loc / size);
    return wrapped >= 0 && wrapped < size ? wrapped : 0;  // rounding may land on the end
  }
  // The cell, counted from the first tile on, of the first neighbour of a settled location.
  i64 cell(double loc) const {
    double first = std::ceil(loc - half);
    if (!circular)
      first = std::clamp(first, 0.0, last);
    else if (first < 0 || first >= size)
      first -= size * std::floor(first / size);
    // Half a point more keeps the product away from whole numbers, on the side where it belongs.
    return std::min(static_cast<i64>((first + 0.5) * cells_per_point), tiles * cells_per_tile - 1);
  }

  // The same of many, where they are. Products with whole numbers are exact, so that it does not
  // matter where sums are rounded.
  Array settled(const Array& locs) const {
    if (!circular) return ops::minimum(ops::maximum(locs, -beyond), size + beyond);
    const Array wrapped = in_period(locs);
    const Array inside =
        ops::logical_and(ops::greater_equal(wrapped, 0.0), ops::less(wrapped, size));
    return ops::where(inside, wrapped, 0.0);
  }
  Array cell(const Array& locs) const {
    const Array first = ops::ceil(ops::subtract(locs, half));
    const Array point = circular ? in_period(first) : ops::minimum(ops::maximum(first, 0.0), last);
    const Array at = ops::floor(ops::multiply(ops::add(point, 0.5), cells_per_point));
    return ops::minimum(at, static_cast<double>(tiles * cells_per_tile - 1));
  }

 private:
  Array in_period(const Array& x) const {
    return ops::subtract(x, ops::multiply(ops::floor(ops::divide(x, size)), size));
  }
};

std::vector<AxisBins> bins_of(const Shape& grid, const SpreadKernel& kernel) {
  constexpr i64 cells[3][3] = {{1}, {2, 2}, {2, 2, 1}};  // rows of the last axis stay long
  const SpreadTiles cut(grid, kernel);
  std::vector<AxisBins> axes;
  for (i64 a = 0; a < grid.size(); ++a)
    axes.push_back(AxisBins(grid[a], kernel.width[a], cut.length[a], cut.count[a],
                            cells[grid.size() - 1][a], kernel.circular));
  return axes;
}

i64 cells_of_tile(const std::vector<AxisBins>& axes) {
  i64 cells = 1;
  for (const AxisBins& bins : axes) cells *= bins.cells_per_tile;
  return cells;
}

struct Sorter {
  std::vector<AxisBins> axes;
  const double* from;
  i64 count, tiles, cells, parts;  // cells: of all tiles
  std::vector<i64> next;  // by part: how many points of each cell, then where the next one goes
  std::unique_ptr<i64[]> cell_of;  // each point

  Sorter(const double* locations, i64 points, const Shape& grid, const SpreadKernel& kernel)
      : axes(bins_of(grid, kernel)),
        from(locations),
        count(points),
        tiles(count_of(SpreadTiles(grid, kernel).count)),
        cells(tiles * cells_of_tile(axes)),
        cell_of(std::make_unique_for_overwrite<i64[]>(static_cast<std::size_t>(count))) {
    // Tables of all parts together take no more memory than the points.
    parts = std::clamp<i64>(count / std::max<i64>(cells, 1 << 14), 1, num_threads());
    next.assign(static_cast<std::size_t>(parts * cells), 0);
  }
  i64 begin(i64 part) const { return count / parts * part + std::min(part, count % parts); }
  i64* table(i64 part) { return next.data() + part * cells; }

  // The cell of every point, and how many points of each part lie in each cell.
  template <int Axes>
  void count_points() {
    const std::array<AxisBins, 3> bins{axes[0], axes[Axes > 1 ? 1 : 0], axes[Axes - 1]};
    parallel_for(parts, 1, [&](i64 first, i64 last) {
      for (i64 part = first; part < last; ++part)
        wide([=, in_tile = std::countr_zero(static_cast<std::uint64_t>(cells / tiles)),
              start = begin(part), end = begin(part + 1), at = from, counts = table(part),
              to = cell_of.get()] {
          for (i64 i = start; i < end; ++i) {
            i64 tile = 0, cell = 0;
            for (int a = 0; a < Axes; ++a) {
              const AxisBins& b = bins[static_cast<std::size_t>(a)];
              const i64 k = b.cell(b.settled(at[i * Axes + a]));
              tile = tile * b.tiles + (k >> b.shift);
              cell = (cell << b.shift) + (k & (b.cells_per_tile - 1));
            }
            const i64 all = (tile << in_tile) + cell;
            to[i] = all;
            ++counts[all];
          }
        });
    });
  }
  // Instructions as above, so that locations are settled to the same numbers.
  template <int Axes>
  void place_points(i64* order, double* locs) {
    parallel_for(parts, 1, [&](i64 first, i64 last) {
      for (i64 part = first; part < last; ++part)
        wide([=, start = begin(part), end = begin(part + 1), at = from, next_of = table(part),
              cell = cell_of.get(), bins = axes.data()] {
          for (i64 i = start; i < end; ++i) {
            const i64 to = next_of[cell[i]]++;
            order[to] = i;
            for (int a = 0; a < Axes; ++a) locs[to * Axes + a] = bins[a].settled(at[i * Axes + a]);
          }
        });
    });
  }

  template <int Axes>
  void sort_by_cells(i64* start, i64* order, double* locs) {
    count_points<Axes>();
    const i64 in_tile = cells / tiles;
    i64 total = 0;
    for (i64 c = 0; c < cells; ++c) {
      if (c % in_tile == 0) start[c / in_tile] = total;
      for (i64 part = 0; part < parts; ++part) {
        const i64 here = table(part)[c];
        table(part)[c] = total;
        total += here;
      }
    }
    start[tiles] = total;
    place_points<Axes>(order, locs);
  }
  void sort(i64* start, i64* order, double* locs) {
    if (axes.size() == 1) return sort_by_cells<1>(start, order, locs);
    axes.size() == 2 ? sort_by_cells<2>(start, order, locs) : sort_by_cells<3>(start, order, locs);
  }
};

bool all_finite(const Array& dense) {
  if (dense.device() != cpu)
    return dense.size() == 0 || reduce(ReduceOp::all, ops::isfinite(dense)).item().as<bool>();
  constexpr double largest = std::numeric_limits<double>::max();
  const double* const p = dense.host<double>();
  const i64 n = dense.size();
  i64 others = 0;
  for (i64 i = 0; i < n; ++i) others += !(std::abs(p[i]) <= largest);
  return others == 0;
}

void check_finite(const Array& dense, i64 axes, std::string_view who) {
  if (all_finite(dense)) return;
  const Array here = dense.to(cpu).contiguous();
  const double* p = here.host<double>();
  for (i64 i = 0; i < here.size(); ++i)
    require<ArgumentError>(std::isfinite(p[i]), who, ": location ", i / axes, " is ", p[i],
                           " along axis ", i % axes, "; locations must be finite");
}

void sort_on_host(GridPoints& p, const Array& dense, i64 count) {
  Sorter sorter(dense.host<double>(), count, p.grid, p.kernel);
  p.starts = uninitialised({sorter.tiles + 1}, DType::i64);
  p.order = uninitialised({count}, DType::i64);
  p.locs = uninitialised({count, p.grid.size()}, DType::f64);
  sorter.sort(p.starts.host<i64>(), p.order.host<i64>(), p.locs.host<double>());
}

void sort_on_device(GridPoints& p, const Array& dense) {
  const std::vector<AxisBins> bins = bins_of(p.grid, p.kernel);
  const i64 tiles = count_of(SpreadTiles(p.grid, p.kernel).count), in_tile = cells_of_tile(bins),
            end = tiles * in_tile;
  // Short keys are sorted in fewer passes.
  const DType key = end < (1 << 15) ? DType::i16 : end < (i64{1} << 31) ? DType::i32 : DType::i64;
  const Array settled = Array::empty(dense.shape(), DType::f64, dense.device());
  const auto counted = [](const Array& before, i64 step, const Array& here) {
    return ops::add(ops::multiply(before, static_cast<double>(step)), here);
  };
  Array tile = zeros({dense.shape(0)}, DType::f64, dense.device()), cell = tile;
  for (i64 a = 0; a < p.grid.size(); ++a) {
    const AxisBins& along = bins[static_cast<std::size_t>(a)];
    const double cells = static_cast<double>(along.cells_per_tile);
    const Array column = along.settled(dense.select(1, a));
    settled.select(1, a).copy_from(column);
    const Array at = along.cell(column), of_tile = ops::floor(ops::divide(at, cells));
    tile = counted(tile, along.tiles, of_tile);
    cell = counted(cell, along.cells_per_tile, ops::subtract(at, ops::multiply(of_tile, cells)));
  }
  const Array keys = counted(tile, in_tile, cell).astype(key);
  p.order = argsort(keys, 0).contiguous();
  p.locs = take(settled, p.order, 0).contiguous();
  const Array firsts = arange(i64{0}, end + 1, in_tile, DType::i64, dense.device()).astype(key);
  p.starts = searchsorted(take(keys, p.order, 0), firsts).contiguous();
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
  const Array dense = given.astype(DType::f64).contiguous().reshape({count, axes});
  check_finite(dense, axes, who);
  if (dense.device() == cpu)
    sort_on_host(p, dense, count);
  else
    sort_on_device(p, dense);
  return p;
}

}  // namespace tessera
