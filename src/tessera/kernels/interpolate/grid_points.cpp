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
#include <vector>

#include "tessera/device/memory.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/interpolate/positions.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

using Key = std::uint32_t;
constexpr i64 block = 256;  // points that go through vector registers together

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

// One axis of the grid: where a location comes to lie, and in which cell of which tile.
struct AxisBins {
  spread::AxisPositions position;
  double half;
  double cells_per_point;
  i64 tiles, cells_per_tile;
  int shift;  // cells_per_tile as a power of two: points are many, and divisions slow

  double last_point() const { return position.size - 1; }
  double last_cell() const { return static_cast<double>(tiles * cells_per_tile - 1); }

  // The cells, counted from the first tile on, of the first neighbours of settled locations. Half a
  // point more keeps the product away from whole numbers, on the side where it belongs.
  void cells(const double* x, i64 count, std::int32_t* cell) const {
    // Adding and subtracting it rounds what is smaller to whole numbers, in any vector registers.
    constexpr double whole = 6755399441055744.0;
    const double back = half, n = position.size, end = last_point(), most = last_cell(),
                 per_point = cells_per_point;
    const bool circular = position.circular, narrow = back <= n;
    for (i64 i = 0; i < count; ++i) {
      const double edge = x[i] - back, near = (edge + whole) - whole;
      double first = near < edge ? near + 1 : near;
      if (circular)
        first = first < 0 ? first + n : first >= n ? first - n : first;
      else
        first = std::min(std::max(first, 0.0), end);
      cell[i] = static_cast<std::int32_t>(std::min((first + 0.5) * per_point, most));
    }
    for (i64 i = 0; i < count && circular && !narrow; ++i) {  // around a small grid several times
      const double first = std::ceil(x[i] - back), in = first - n * std::floor(first / n);
      cell[i] = static_cast<std::int32_t>(std::min((in + 0.5) * per_point, most));
    }
  }
};

std::vector<AxisBins> bins_of(const Shape& grid, const SpreadKernel& kernel,
                              const Frequencies& of) {
  constexpr i64 cells[3][3] = {{1}, {2, 2}, {2, 2, 1}};  // rows of the last axis stay long
  const SpreadTiles cut(grid, kernel);
  const std::vector<spread::AxisPositions> positions = spread::positions_of_axes(grid, kernel, of);
  std::vector<AxisBins> axes;
  double all = 1;
  for (i64 a = 0; a < grid.size(); ++a) {
    const i64 here = cells[grid.size() - 1][a];
    axes.push_back({positions[static_cast<std::size_t>(a)], kernel.width[a] / 2,
                    static_cast<double>(here) / static_cast<double>(cut.length[a]), cut.count[a],
                    here, std::countr_zero(static_cast<std::uint64_t>(here))});
    all *= static_cast<double>(cut.count[a] * here);
  }
  require<ArgumentError>(all < std::numeric_limits<std::int32_t>::max(), "interpolate: a grid of ",
                         grid, " points has more tiles than points can be sorted by");
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
  Array keys;             // the cell of each point

  Sorter(const double* locations, i64 points, const Shape& grid, const SpreadKernel& kernel,
         const Frequencies& of)
      : axes(bins_of(grid, kernel, of)),
        from(locations),
        count(points),
        tiles(count_of(SpreadTiles(grid, kernel).count)),
        cells(tiles * cells_of_tile(axes)),
        keys(empty_dense({count}, DType::u32)) {
    // Tables of all parts together take no more memory than the points.
    parts = std::clamp<i64>(count / std::max<i64>(cells, 1 << 14), 1, num_threads());
    next.assign(static_cast<std::size_t>(parts * cells), 0);
  }
  i64 begin(i64 part) const { return count / parts * part + std::min(part, count % parts); }
  i64* table(i64 part) { return next.data() + part * cells; }
  template <int Axes>
  std::array<AxisBins, 3> bins() const {
    return {axes[0], axes[Axes > 1 ? 1 : 0], axes[Axes - 1]};
  }

  // The cells of `count` points that follow each other.
  template <int Axes>
  static void find_keys(const std::array<AxisBins, 3>& bins, const double* given, i64 count,
                        int in_tile, Key* key) {
    double x[block];
    std::int32_t at[block];
    Key tile[block], cell[block];
    for (int a = 0; a < Axes; ++a) {
      const AxisBins& b = bins[static_cast<std::size_t>(a)];
      b.position.settle<Axes>(given + a, count, x);
      b.cells(x, count, at);
      const Key tiles = static_cast<Key>(b.tiles), inside = static_cast<Key>(b.cells_per_tile - 1);
      const int shift = b.shift;
      for (i64 i = 0; i < count; ++i) {
        const Key k = static_cast<Key>(at[i]);
        tile[i] = (a == 0 ? 0 : tile[i]) * tiles + (k >> shift);
        cell[i] = ((a == 0 ? 0 : cell[i]) << shift) + (k & inside);
      }
    }
    for (i64 i = 0; i < count; ++i) key[i] = (tile[i] << in_tile) + cell[i];
  }

  // The cell of every point, and how many points of each part lie in each cell.
  template <int Axes>
  void count_points() {
    const int in_tile = std::countr_zero(static_cast<std::uint64_t>(cells / tiles));
    parallel_for(parts, 1, [&](i64 first, i64 last) {
      for (i64 part = first; part < last; ++part)
        wide([=, bins = this->bins<Axes>(), start = begin(part), end = begin(part + 1),
              given = from, counts = table(part), to = keys.host<Key>()] {
          for (i64 i = start; i < end; i += block) {
            const i64 n = std::min(block, end - i);
            find_keys<Axes>(bins, given + i * Axes, n, in_tile, to + i);
            for (i64 k = i; k < i + n; ++k) ++counts[to[k]];
          }
        });
    });
  }
  void order_points(i64* order) {
    parallel_for(parts, 1, [&](i64 first, i64 last) {
      for (i64 part = first; part < last; ++part) {
        i64* const next_of = table(part);
        const Key* const key = keys.host<Key>();
        for (i64 i = begin(part), end = begin(part + 1); i < end; ++i) order[next_of[key[i]]++] = i;
      }
    });
  }
  // Locations are fetched in the order in which they will lie: many reads are under way at once,
  // where writes all over memory would wait for each other. Instructions as above, so that they are
  // settled to the same numbers.
  template <int Axes>
  void fetch_locations(const i64* order, double* locs) {
    parallel_for(count, 1 << 13, [&](i64 start, i64 end) {
      wide([=, bins = this->bins<Axes>(), given = from] {
        double at[Axes][block], x[Axes][block];
        for (i64 i = start; i < end; i += block) {
          const i64 n = std::min(block, end - i);
          for (i64 k = 0; k < n; ++k)
            for (int a = 0; a < Axes; ++a) at[a][k] = given[order[i + k] * Axes + a];
          for (int a = 0; a < Axes; ++a) {
            const spread::AxisPositions& along = bins[static_cast<std::size_t>(a)].position;
            along.settle<1>(at[a], n, x[a]);
          }
          for (i64 k = 0; k < n; ++k)
            for (int a = 0; a < Axes; ++a) locs[(i + k) * Axes + a] = x[a][k];
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
    order_points(order);
    fetch_locations<Axes>(order, locs);
  }
  void sort(i64* start, i64* order, double* locs) {
    if (axes.size() == 1) return sort_by_cells<1>(start, order, locs);
    axes.size() == 2 ? sort_by_cells<2>(start, order, locs) : sort_by_cells<3>(start, order, locs);
  }
};

void sort_on_host(GridPoints& p, const Array& dense, const Frequencies& of) {
  const i64 count = dense.shape(0);
  Sorter sorter(dense.host<double>(), count, p.grid, p.kernel, of);
  p.starts = empty_dense({sorter.tiles + 1}, DType::i64);
  p.order = empty_dense({count}, DType::i64);
  p.locs = empty_dense({count, p.grid.size()}, DType::f64);
  sorter.sort(p.starts.host<i64>(), p.order.host<i64>(), p.locs.host<double>());
}

// The cell of each settled location (count, axes), counted as the host does. A cell is its tile's
// number times the cells of a tile and its own within: a sum over the axes of whole numbers.
Array keys_there(const Array& x, const std::vector<AxisBins>& bins, i64 in_tile) {
  using A = AxisBins;
  const Array rows = spread::rows_of_axes<A>(
      bins, x.device(),
      {[](const A& b) { return b.half; }, [](const A& b) { return b.position.size; },
       [](const A& b) { return b.last_point(); }, [](const A& b) { return b.cells_per_point; },
       [](const A& b) { return b.last_cell(); },
       [](const A& b) { return static_cast<double>(b.cells_per_tile); }});
  Array first = ops::ceil(ops::subtract(x, rows.select(0, 0)));
  first = bins.front().position.circular
              ? spread::in_period(first, rows.select(0, 1))
              : ops::minimum(ops::maximum(first, 0.0), rows.select(0, 2));
  const Array cell = ops::minimum(
      ops::floor(ops::multiply(ops::add(first, 0.5), rows.select(0, 3))), rows.select(0, 4));
  const Array tile = ops::floor(ops::divide(cell, rows.select(0, 5)));
  // What a step along each axis counts: from one tile to the next, and from one cell to the next.
  struct Steps {
    double tile, cell;
  };
  std::vector<Steps> steps(bins.size());
  double tiles = static_cast<double>(in_tile), cells = 1;
  for (std::size_t a = bins.size(); a-- > 0;) {
    steps[a] = {tiles - cells * static_cast<double>(bins[a].cells_per_tile), cells};
    tiles *= static_cast<double>(bins[a].tiles);
    cells *= static_cast<double>(bins[a].cells_per_tile);
  }
  const Array step = spread::rows_of_axes<Steps>(
      steps, x.device(),
      {[](const Steps& s) { return s.tile; }, [](const Steps& s) { return s.cell; }});
  return reduce(
      ReduceOp::sum,
      ops::add(ops::multiply(tile, step.select(0, 0)), ops::multiply(cell, step.select(0, 1))),
      Axes{1});
}

void sort_on_device(GridPoints& p, const Array& dense, const Frequencies& of) {
  const std::vector<AxisBins> bins = bins_of(p.grid, p.kernel, of);
  const i64 tiles = count_of(SpreadTiles(p.grid, p.kernel).count), in_tile = cells_of_tile(bins),
            end = tiles * in_tile;
  // Short keys are sorted in fewer passes.
  const DType key = end < (1 << 15) ? DType::i16 : DType::i32;
  const Array settled =
      spread::settled_there(dense, spread::positions_of_axes(p.grid, p.kernel, of));
  const Array keys = keys_there(settled, bins, in_tile).astype(key);
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

SpreadKernel checked_points(const Array& locs, const Shape& grid, const SpreadKernel& kernel,
                            std::string_view who, const Frequencies& of) {
  const i64 axes = grid.size();
  require<ShapeError>(axes >= 1 && axes <= 3, who, ": a grid of ", axes,
                      " axes; expected one to three");
  for (i64 n : grid)
    require<ShapeError>(n >= 1, who, ": a grid of shape ", grid, " holds no point");
  require<ShapeError>(locs.ndim() >= 1 && locs.shape(locs.ndim() - 1) == axes, who,
                      ": locations of shape ", locs.shape(), " for a grid of ", axes,
                      " axes; expected (..., ", axes, ")");
  require<DTypeError>(!is_complex(locs.dtype()) && locs.dtype() != DType::b1, who,
                      ": locations of ", name(locs.dtype()), "; expected real numbers");
  for (const Shape* of_axes : {&of.image, &of.zero})
    require<ShapeError>(of_axes->empty() || of_axes->size() == axes, who, ": numbers ", *of_axes,
                        " of the axes of a grid of shape ", grid);
  SpreadKernel checked = checked_kernel(kernel, axes, who);
  check_locations(locs, grid, who, of);
  return checked;
}

GridPoints sorted_points(const Array& locs, const Shape& grid, const SpreadKernel& checked,
                         const Frequencies& of) {
  GridPoints p{grid, checked, {}, {}, {}};
  const i64 axes = grid.size();
  const Device there = locs.device();
  // Sorting takes more memory than the points do: where that is limited, the host sorts them.
  const bool on_host = there == cpu || memory_stats(there).budget > 0;
  const Array from = on_host ? locs.to(cpu) : locs;
  const Array dense = from.astype(DType::f64).contiguous().reshape({from.size() / axes, axes});
  if (!on_host) {
    sort_on_device(p, dense, of);
    return p;
  }
  sort_on_host(p, dense, of);
  return there == cpu ? p : p.to(there);
}

GridPoints make_grid_points(const Array& locs, const Shape& grid, const SpreadKernel& kernel,
                            std::string_view who, const Frequencies& of) {
  return sorted_points(locs, grid, checked_points(locs, grid, kernel, who, of), of);
}

}  // namespace tessera
