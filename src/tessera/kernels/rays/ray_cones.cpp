// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/rays/ray_cones.hpp"

#include <algorithm>

#include "tessera/kernels/rays/ray_shadows.hpp"

namespace tessera::rays {
namespace {

// Places are found in double precision, weights from what is left of them in that of the data.
template <class R>
void weigh_columns(const CellEdges& e, const CellRun& run, double c, i64 start, i64 n,
                   const ColumnTaps<R>& s) {
  const i64 cells = run.end - run.begin, from = run.begin - e.begin;
  const double *left = e.left + from, *right = e.right + from, *length = e.length + from;
  const double source = e.source[1 - run.axis], distance = e.distance(run.axis, c);
  wide([=] {
    const double before = static_cast<double>(s.taps), begin = static_cast<double>(start) - before,
                 most = static_cast<double>(n) + before;
    R *low = s.low, *reach = s.reach, *scale = s.scale;
    std::int32_t* first = s.first;
#pragma GCC ivdep
    for (i64 d = 0; d < cells; ++d) {
      const double a = source + distance * left[d], b = source + distance * right[d];
      const double lower = a < b ? a : b, upper = a < b ? b : a, width = upper - lower;
      const double whole = std::floor(lower);
      low[d] = static_cast<R>(lower - whole);
      reach[d] = static_cast<R>(upper - whole);
      scale[d] = static_cast<R>(length[d] / (width > least_shadow ? width : least_shadow));
      const double place = whole - begin, positive = place > 0 ? place : 0;
      first[d] = static_cast<std::int32_t>(positive < most ? positive : most);
    }
    for (i64 t = 0; t < s.taps; ++t) {
      const R voxel = static_cast<R>(t);
      R* weight = s.weight + t * cells;
#pragma GCC ivdep
      for (i64 d = 0; d < cells; ++d) {
        const R a = low[d] > voxel ? low[d] : voxel,
                b = reach[d] < voxel + 1 ? reach[d] : voxel + 1, part = b - a;
        weight[d] = (part > 0 ? part : R(0)) * scale[d];
      }
    }
  });
}

// Shadows one `line.slope` wide, side by side on a row: put(i, what they have) for registers of
// them from shadow `first` on, a multiple of a block.
template <int Taps, int bytes, class R, class F>
TESSERA_INLINE void along_row(const SlabLine& line, i64 first, i64 count, i64 start,
                              const Row<const R>& row, i64 taps, const F& put) {
  using V = Register<R, bytes>;
  constexpr i64 L = lanes<R, bytes>;
  V from, to;
  for (i64 l = 0; l < L; ++l) {
    from[l] = static_cast<R>(static_cast<double>(l) * line.slope);
    to[l] = static_cast<R>(static_cast<double>(l + 1) * line.slope);
  }
  const SlabLine registers{line.base, line.slope * static_cast<double>(L)};
  for (i64 begin = 0; begin < count; begin += most_places * L) {
    const i64 here = std::min(most_places, (count - begin + L - 1) / L);
    std::int32_t place[most_places];
    R beyond[most_places];
    find_places(registers, static_cast<double>((first + begin) / L), here, start, place, beyond);
    for (i64 i = 0; i < here; ++i) {
      V sum[1] = {};
      if (Taps == 0 || (place[i] > -2 * L && place[i] < row.size))
        take_shadows<Taps, 1, bytes>(from + beyond[i], to + beyond[i], row, place[i], false, taps,
                                     sum);
      put(begin + i * L, sum[0]);
    }
  }
}

// sums += what the columns of cell d have in its rows.
template <int bytes, class R>
TESSERA_INLINE void project_cell(const ColumnTaps<R>& s, i64 cells, i64 d, const SlabLine& rows,
                                 i64 first_row, const ConeSlab<R>& slab, R* sums, i64 size) {
  using V = Register<R, bytes>;
  constexpr i64 L = lanes<R, bytes>;
  const R* columns = slab.first + static_cast<i64>(s.first[d]) * slab.deep;
  R* const column = slab.column + margin;
  const i64 whole = slab.deep / L * L;
  for (i64 z = 0; z < whole; z += L) {
    V sum = {};
    for (i64 t = 0; t < s.taps; ++t) {
      const R w = s.weight[t * cells + d];
      if (w > 0) sum += w * load_register<bytes>(columns + t * slab.deep + z);
    }
    store_register<R, bytes>(column + z, sum);
  }
  for (i64 z = whole; z < slab.deep; ++z) {
    R sum = 0;
    for (i64 t = 0; t < s.taps; ++t) {
      const R w = s.weight[t * cells + d];
      if (w > 0) sum += w * columns[t * slab.deep + z];
    }
    column[z] = sum;
  }
  const R scale = static_cast<R>(1 / rows.slope);
  with_taps<bytes, R>(rows.slope, [&]<int Taps>(i64 taps) {
    const Row<const R> row{column, slab.deep, 0};
    along_row<Taps, bytes, R>(rows, first_row - first_row % cell_block, size, slab.start[1], row,
                              taps, [&](i64 at, const V& sum) {
                                const V before = load_register<bytes>(sums + at);
                                store_register<R, bytes>(sums + at, before + sum * scale);
                              });
  });
}

// The columns of cell d += what its rows have.
template <int bytes, class R>
TESSERA_INLINE void backproject_cell(const ColumnTaps<R>& s, i64 cells, i64 d, const SlabLine& rows,
                                     i64 first_row, const ConeSlab<R>& slab, const R* data,
                                     i64 size) {
  const i64 start = slab.start[1], lead = start % cell_block;
  const Row<const R> row{data + margin, size, 0};
  R* const room = slab.column;
  const SlabLine voxels{-rows.base / rows.slope, 1 / rows.slope};
  if (rows.slope < narrow) {
    const double base = rows.base + rows.slope * static_cast<double>(first_row);
    std::fill_n(room, lead + slab.deep, R(0));
    spread_narrow<1>({base - static_cast<double>(start), rows.slope}, row,
                     Row<R>{room + lead, slab.deep, 0});
  } else {
    with_taps<bytes, R>(voxels.slope, [&]<int Taps>(i64 taps) {
      along_row<Taps, bytes, R>(
          voxels, start - lead, lead + slab.deep, first_row, row, taps,
          [&](i64 at, const Register<R, bytes>& sum) { store_register<R, bytes>(room + at, sum); });
    });
  }
  const R* const column = room + lead;
  for (i64 t = 0; t < s.taps; ++t) {
    const R w = s.weight[t * cells + d];
    if (!(w > 0)) continue;
    R* to = slab.first + (s.first[d] + t) * slab.deep;
#pragma GCC ivdep
    for (i64 z = 0; z < slab.deep; ++z) to[z] += w * column[z];
  }
}

}  // namespace

template <bool Adjoint, class R>
void add_cone_slab(const RayGeometry& g, const double* view, const CellEdges& e, const CellRun& run,
                   double c, const ColumnTaps<R>& taps, const ConeSlab<R>& slab,
                   const ConeCells<R>& cells) {
  weigh_columns(e, run, c, slab.start[0], slab.n, taps);
  const double distance = e.distance(run.axis, c);
  wide_registers([=, &g]<int bytes>() {
    const i64 count = run.end - run.begin;
    for (i64 d = 0; d < count; ++d) {
      const i64 cell = run.begin - e.begin + d;
      const double depth = distance * e.toward[cell];
      if (taps.first[d] == 0 || taps.first[d] >= slab.n + taps.taps || !(depth > 0)) continue;
      const SlabLine rows = rows_on_slab(g, view, depth);
      R* const numbers = cells.first + cell * cells.step;
      if constexpr (Adjoint)
        backproject_cell<bytes>(taps, count, d, rows, g.first_row, slab, numbers, cells.size);
      else
        project_cell<bytes>(taps, count, d, rows, g.first_row, slab, numbers, cells.size);
    }
  });
}

template void add_cone_slab<false>(const RayGeometry&, const double*, const CellEdges&,
                                   const CellRun&, double, const ColumnTaps<float>&,
                                   const ConeSlab<float>&, const ConeCells<float>&);
template void add_cone_slab<false>(const RayGeometry&, const double*, const CellEdges&,
                                   const CellRun&, double, const ColumnTaps<double>&,
                                   const ConeSlab<double>&, const ConeCells<double>&);
template void add_cone_slab<true>(const RayGeometry&, const double*, const CellEdges&,
                                  const CellRun&, double, const ColumnTaps<float>&,
                                  const ConeSlab<float>&, const ConeCells<float>&);
template void add_cone_slab<true>(const RayGeometry&, const double*, const CellEdges&,
                                  const CellRun&, double, const ColumnTaps<double>&,
                                  const ConeSlab<double>&, const ConeCells<double>&);

}  // namespace tessera::rays
