// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cones of rays between a slab, whose voxels are columns along z, and a detector, whose cells are
// rows: the columns that a cell covers are one weighted column, on which its rows are shadows (and
// a voxel is one on the rows). Private to the cpu's kernel.
//   add_cone_slab<false>(g, view, e, run, c, taps, slab, cells);

#include "tessera/kernels/rays/ray_images.hpp"

namespace tessera::rays {

// The columns that the cells of a run cover on one slab; weights are tap by tap.
template <class R>
struct ColumnTaps {
  std::int32_t* first = nullptr;                         // 0: `taps` before the slab
  R *low = nullptr, *reach = nullptr, *scale = nullptr;  // room
  R* weight = nullptr;
  i64 taps = 0;
};

// A slab of n columns of `deep` voxels, with `taps` more of no meaning at both ends.
template <class R>
struct ConeSlab {
  R* first;
  i64 n, deep;
  i64 start[2];  // of columns and of their voxels in the whole volume
  R* column;     // room for one, with margins
};
inline i64 column_room(i64 deep) { return whole_blocks(deep) + 2 * margin; }

// Cells `step` apart, of `size` numbers each: forward, sums of rows from the block on in which the
// first row lies; backward, rows with margins. From the first cell of the edges on.
template <class R>
struct ConeCells {
  R* first;
  i64 size, step;
};

// Forward the cells of a run += what the slab with centre c has in them, backward the other way
// round; not yet times what rays are longer than in the plane.
template <bool Adjoint, class R>
void add_cone_slab(const RayGeometry& g, const double* view, const CellEdges& e, const CellRun& run,
                   double c, const ColumnTaps<R>& taps, const ConeSlab<R>& slab,
                   const ConeCells<R>& cells);

}  // namespace tessera::rays
