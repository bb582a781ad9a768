// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the edges of a view's cells lie on slabs, as few numbers that serve all slabs: rays that
// are parallel meet every slab at the same distances, and those from a source at distances that
// grow with the slab's from the source. Private to the cpu's kernel.
//   find_edges(g, view, 0, 96, e);   SlabLine l = e.line(axis, e.left[7]);

#include "tessera/kernels/rays/ray_math.hpp"

namespace tessera::rays {

inline constexpr i64 cell_block = 16;  // of the whole detector: what is computed together

// The next multiple of a block.
inline i64 whole_blocks(i64 n) { return (n + cell_block - 1) / cell_block * cell_block; }

// Cells of the whole detector whose slabs lie along one axis.
struct CellRun {
  i64 begin, end;
  int axis;
};

struct CellEdges {
  i64 begin = 0, end = 0;  // cells of the whole detector; begin is a multiple of cell_block
  bool parallel = false;
  SlabLine middle{};          // parallel: of the ray through 0 of the detector
  double width = 0;           // parallel: of a cell on a slab, below 0 where they go down
  double source[2] = {0, 0};  // else: in voxels
  double widest[2] = {0, 0};  // the widest cell of each axis
  double *left = nullptr, *right = nullptr;  // of cells: places of the edges, per unit of distance
  double *length = nullptr, *toward = nullptr;  // of the middle ray: in a slab; 1 / main direction
  std::uint8_t* axis = nullptr;
  double* directions = nullptr;  // room: x and y of edges and of middles

  // On the slab with centre c two edges lie this many times the difference of `left` apart.
  double distance(int main, double c) const { return parallel ? 1 : c - source[main]; }
  SlabLine line(int main, double edge) const {
    if (parallel) return {middle.base + edge, middle.slope};
    return {source[1 - main] - source[main] * edge, edge};
  }
  // The run that starts at `from`, or behind it, up to `to` at most; an empty one where none does.
  CellRun next_run(int main, i64 from, i64 to) const;
};

// The numbers that `directions` has room for.
inline i64 directions_of(i64 cells) { return 4 * (whole_blocks(cells) + 2 * cell_block); }
// Cells [begin, end), and what fills the last block: the pointers have room for it.
void find_edges(const RayGeometry& g, const double* view, i64 begin, i64 end, CellEdges& e);

}  // namespace tessera::rays
