// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a view and some slabs of images add to each other. One, two or four images are followed
// together: their weights are found once. Private to the cpu's kernel.
//   project_slabs(1, e, run, slabs, farthest, sums);   scale_sums(1, e, run, sums);

#include "tessera/kernels/rays/ray_edges.hpp"

namespace tessera::rays {

// Zeros on both sides of a row: shadows beyond its ends need no case of their own.
inline constexpr i64 margin = 48;
inline constexpr i64 most_slabs = 64;  // at a time

// Rows of `size` numbers, one for each image.
template <class R>
struct Row {
  R* first;
  i64 size, image;
};

// Slabs that are summed over, or that get sums: the rows that shadows are on, with margins.
template <class R>
struct Slabs {
  Row<const R> row;  // of the first slab
  i64 step, start;   // from slab to slab; the number of the whole that a row begins with
  double c;          // centre of the first slab
  i64 count;         // most_slabs at most
  const R *distance, *nearness;  // of slabs: how shadows grow, and what they then count
};

// sums += what slabs on one side of the source cover of the cells of a run, not yet scaled. The
// largest distance of a slab is `farthest`.
template <class R>
void project_slabs(i64 images, const CellEdges& e, const CellRun& run, const Slabs<R>& slabs,
                   double farthest, const Row<R>& sums);
// What is covered becomes an integral: the length of a ray times the share of the cell.
template <class R>
void scale_sums(i64 images, const CellEdges& e, const CellRun& run, const Row<R>& sums);
// Rows of voxels, `step` apart and from voxel `first` of the whole volume on, += what they have in
// parallel rays. The data are times the length of a ray in a slab.
template <class R>
void backproject_parallel(i64 images, const CellEdges& e, double zero, const Slabs<R>& data,
                          i64 first, const Row<R>& slab, i64 step);

// A run of cells of one view from a source. Rows have margins: cells without extent, and zeros.
template <class R>
struct FanRun {
  double* edge = nullptr;   // places per unit of distance from the source: cells + 1
  double* table = nullptr;  // cells at equal steps of these places: cells + 1
  Row<R> data{};            // over the widths of cells, times the lengths of rays
  i64 cells = 0;
  double start = 0, per_place = 0;  // of the table
  double steepest = 0, bend = 0;    // the most that its steps, and their differences, are
  double error = 0;                 // the most that a line between its steps misses, in cells
};
// Edges and table; the data are filled by whoever has them.
template <class R>
void make_fan(const CellEdges& e, const CellRun& run, FanRun<R>& fan);
// As for parallel rays; the centre of the first of `slabs` is c.
template <class R>
void backproject_fan(i64 images, const CellEdges& e, int axis, const FanRun<R>& fan, double c,
                     i64 slabs, i64 first, const Row<R>& slab, i64 step);

// f<G>() for the number of images.
template <class F>
void with_images(i64 images, const F& f) {
  switch (images) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    default: return f.template operator()<4>();
  }
}

}  // namespace tessera::rays
