// SPDX-License-Identifier: Apache-2.0
#pragma once
// The weights between the cells of a view and the voxels of a slab on the cpu, and the sums over
// them in both directions. Along a slab and along a detector numbers lie in lanes: images of a
// batch, or the axis of rotation. Slabs have `taps` voxels of no meaning before their first and
// behind their last, so that shadows beyond the volume need no case of their own. Private to the
// cpu's kernel.
//   lines_of(s, g, view, run);   slab_weights(s, n, 7.5, 0, 64);   add_slab<8>(s, n, slab, sums);

#include <cstdint>

#include "tessera/kernels/rays/ray_math.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera::rays {

// Cells [begin, end) of the part of the detector that is here, whose slabs lie along one axis.
struct CellRun {
  i64 begin, end;
  int axis;
};

// Memory of one task, for as many cells as a run may have; weights are taps * cells, tap by tap.
template <class R>
struct SlabTaps {
  double *base = nullptr, *slope = nullptr;  // of edges: one more than cells
  R *length = nullptr, *low = nullptr, *reach = nullptr, *scale = nullptr;
  double *depth = nullptr, *depth_slope = nullptr;  // of centres: depth + depth_slope * c
  std::int32_t* first = nullptr;                    // 0: `taps` before the slab
  R* weight = nullptr;
  i64 taps = 0;
};

inline int axis_of_cell(const RayGeometry& g, const double* view, i64 cell) {
  return main_axis(ray_line(g, view, static_cast<double>(g.first_cell + cell) + 0.5));
}

// The run that starts at `begin`, up to `end` at most.
inline CellRun next_run(const RayGeometry& g, const double* view, i64 begin, i64 end) {
  const int axis = axis_of_cell(g, view, begin);
  if (g.beam == Beam::parallel) return {begin, end, axis};
  i64 stop = begin + 1;
  while (stop < end && axis_of_cell(g, view, stop) == axis) ++stop;
  return {begin, stop, axis};
}

template <class R>
void lines_of(const SlabTaps<R>& s, const RayGeometry& g, const double* view, const CellRun& run) {
  const i64 cells = run.end - run.begin;
  for (i64 e = 0; e <= cells; ++e) {
    const auto at = static_cast<double>(g.first_cell + run.begin + e);
    const SlabLine l = on_slabs(ray_line(g, view, at), run.axis);
    s.base[e] = l.base;
    s.slope[e] = l.slope;
    if (e == cells) break;
    const RayLine centre = ray_line(g, view, at + 0.5);
    s.length[e] = static_cast<R>(slab_length(g, centre, run.axis));
    s.depth_slope[e] = 1 / centre.direction[run.axis];
    s.depth[e] = -centre.point[run.axis] * s.depth_slope[e];
  }
}

// Places are found in double precision, weights from what is left of them in that of the data. On
// the slab with centre c, whose n voxels are those from `start` of the whole volume.
template <class R>
void slab_weights(const SlabTaps<R>& s, i64 cells, double c, i64 start, i64 n) {
  wide([=] {
    const double before = static_cast<double>(s.taps), begin = static_cast<double>(start) - before,
                 most = static_cast<double>(n) + before;
    const double *base = s.base, *slope = s.slope;
    const R* length = s.length;
    R *low = s.low, *reach = s.reach, *scale = s.scale;
    std::int32_t* first = s.first;
#pragma GCC ivdep
    for (i64 d = 0; d < cells; ++d) {
      const double a = base[d] + slope[d] * c, b = base[d + 1] + slope[d + 1] * c;
      const double from = a < b ? a : b, to = a < b ? b : a, width = to - from;
      const double whole = std::floor(from);
      low[d] = static_cast<R>(from - whole);
      reach[d] = static_cast<R>(to - whole);
      scale[d] = static_cast<R>(width);
      const double place = whole - begin, positive = place > 0 ? place : 0;
      first[d] = static_cast<std::int32_t>(positive < most ? positive : most);
    }
    constexpr R least = static_cast<R>(least_shadow);
#pragma GCC ivdep
    for (i64 d = 0; d < cells; ++d) scale[d] = length[d] / (scale[d] > least ? scale[d] : least);
    for (i64 t = 0; t < s.taps; ++t) {
      const R voxel = static_cast<R>(t);
      R* weight = s.weight + t * cells;
#pragma GCC ivdep
      for (i64 d = 0; d < cells; ++d) {
        const R from = low[d] > voxel ? low[d] : voxel,
                to = reach[d] < voxel + 1 ? reach[d] : voxel + 1, part = to - from;
        weight[d] = (part > 0 ? part : R(0)) * scale[d];
      }
    }
  });
}

// What is not met adds nothing, finite or not.
template <class R>
R weighted(R weight, R number) {
  return weight > 0 ? weight * number : R(0);
}

// sums[d] += what the slab has in the shadow of cell d; or the other way round.
template <int Lanes, int Taps, bool Adjoint, class R>
void add_lanes(const SlabTaps<R>& s, i64 cells, R* slab, R* sums) {
  wide([=] {
    const i64 taps = Taps > 0 ? Taps : s.taps;
    for (i64 d = 0; d < cells; ++d) {
      R* voxel = slab + static_cast<i64>(s.first[d]) * Lanes;
      R* cell = sums + d * Lanes;
      R kept[Lanes];
      for (int l = 0; l < Lanes; ++l) kept[l] = cell[l];
      for (i64 t = 0; t < taps; ++t) {
        const R w = s.weight[t * cells + d];
        for (int l = 0; l < Lanes; ++l) {
          if constexpr (Adjoint)
            voxel[t * Lanes + l] += weighted(w, kept[l]);
          else
            kept[l] += weighted(w, voxel[t * Lanes + l]);
        }
      }
      if constexpr (!Adjoint)
        for (int l = 0; l < Lanes; ++l) cell[l] = kept[l];
    }
  });
}

template <int Lanes, bool Adjoint, class R>
void add_slab(const SlabTaps<R>& s, i64 cells, R* slab, R* sums) {
  switch (s.taps) {
    case 2: return add_lanes<Lanes, 2, Adjoint>(s, cells, slab, sums);
    case 3: return add_lanes<Lanes, 3, Adjoint>(s, cells, slab, sums);
    default: return add_lanes<Lanes, 0, Adjoint>(s, cells, slab, sums);
  }
}

// The rows of a detector on a column of voxels along z, which has `taps` more at both ends. `first`
// and `weight` are of rows.
template <class R>
struct RowTaps {
  std::int32_t* first = nullptr;
  R* weight = nullptr;
  R* column = nullptr;
  i64 taps = 0, rows = 0, voxels = 0;
};

template <class R>
void row_weights(const RowTaps<R>& s, const RayGeometry& g, const SlabLine& at) {
  wide([=] {
    const double before = static_cast<double>(s.taps),
                 begin = static_cast<double>(g.first_voxel[2]) - before,
                 most = static_cast<double>(s.voxels) + before, scale = 1 / at.slope;
    std::int32_t* first = s.first;
    const auto edge = static_cast<double>(g.first_row);
#pragma GCC ivdep
    for (i64 v = 0; v < s.rows; ++v) {
      const double place = std::floor(at.base + at.slope * (edge + static_cast<double>(v))) - begin;
      const double positive = place > 0 ? place : 0;
      first[v] = static_cast<std::int32_t>(positive < most ? positive : most);
    }
    for (i64 t = 0; t < s.taps; ++t) {
      const auto voxel = static_cast<double>(t);
      R* weight = s.weight + t * s.rows;
#pragma GCC ivdep
      for (i64 v = 0; v < s.rows; ++v) {
        const double low = at.base + at.slope * (edge + static_cast<double>(v)),
                     whole = std::floor(low), reach = low - whole + at.slope;
        const double from = low - whole > voxel ? low - whole : voxel,
                     to = reach < voxel + 1 ? reach : voxel + 1, part = to - from;
        weight[v] = static_cast<R>((part > 0 ? part : 0) * scale);
      }
    }
  });
}

// Cells in rows: the slab's lanes are voxels along z, those of the sums are rows.
template <bool Adjoint, class R>
void add_cone_slab(const SlabTaps<R>& s, const RowTaps<R>& rows, const RayGeometry& g,
                   const double* view, double c, i64 cells, i64 n, R* slab, R* sums) {
  const i64 deep = rows.voxels;
  R* const column = rows.column + rows.taps;
  for (i64 d = 0; d < cells; ++d) {
    const i64 first = s.first[d];
    const double depth = s.depth[d] + s.depth_slope[d] * c;
    if (first == 0 || first >= n + s.taps || !(depth > 0)) continue;
    row_weights(rows, g, rows_on_slab(g, view, depth));
    R* const cell = sums + d * rows.rows;
    wide([=] {
      for (i64 z = -rows.taps; z < deep + rows.taps; ++z) column[z] = 0;
      if constexpr (Adjoint)
        for (i64 v = 0; v < rows.rows; ++v)
          for (i64 t = 0; t < rows.taps; ++t)
            rows.column[rows.first[v] + t] += weighted(rows.weight[t * rows.rows + v], cell[v]);
      for (i64 t = 0; t < s.taps; ++t) {
        const R w = s.weight[t * cells + d];
        if (!(w > 0)) continue;
        R* const voxels = slab + (first + t) * deep;
        if constexpr (Adjoint)
          for (i64 z = 0; z < deep; ++z) voxels[z] += w * column[z];
        else
          for (i64 z = 0; z < deep; ++z) column[z] += w * voxels[z];
      }
      if constexpr (!Adjoint)
        for (i64 v = 0; v < rows.rows; ++v)
          for (i64 t = 0; t < rows.taps; ++t)
            cell[v] += weighted(rows.weight[t * rows.rows + v], rows.column[rows.first[v] + t]);
    });
  }
}

}  // namespace tessera::rays
