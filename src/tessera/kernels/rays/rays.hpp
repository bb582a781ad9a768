// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line integrals of images and volumes, seen by detectors: the distance-driven ray transform and
// its adjoint. A detector cell and a voxel meet on the slab (a row of voxels across the ray) that
// both are projected to; their weight is the part of the cell's shadow that the voxel covers times
// the length of the ray in the slab. Both directions compute the same weights and sum each of their
// outputs in one place and in one order: they are adjoint to rounding, and nothing depends on the
// number of threads. Chosen over Joseph's and Siddon's methods for this symmetry, and since cells
// wider or narrower than voxels leave no gaps.
//   RaysSpec spec{false, volume, data, batch_axes, geometry};   // operands: volume, views, data

#include "tessera/kernels/kernel.hpp"

namespace tessera {

// How the rays of a view lie in the plane: side by side, from a source to a straight detector, or
// to an arc around the source. A view is eight numbers:
//   source x y z (parallel: the direction), centre of the detector x y z, and its step from one
//   cell to the next x y (arc: the angle of a cell, and 0).
enum class Beam : std::uint8_t { parallel, flat, arc };
inline constexpr i64 view_numbers = 8;

// Lengths are in the caller's unit, z is along the axis of rotation. Arrays are x, y, z.
struct RayGeometry {
  Beam beam = Beam::parallel;
  bool rows = false;                  // cells in rows along z: a volume and a cone of rays
  double voxel[3] = {1, 1, 1};        // sizes
  double origin[3] = {0, 0, 0};       // where 0 lies, in voxels from the volume's first edge
  double zero[2] = {0, 0};            // the same of the detector, in cells; then in rows
  double row_pitch = 1;               // from one row to the next
  i64 first_voxel[3] = {0, 0, 0};     // of the part of the volume that is here
  i64 first_cell = 0, first_row = 0;  // of the part of the detector that is here
  i64 taps = 0, row_taps = 0;  // most voxels that a shadow meets on a slab; along z: the cost
};

// The most voxels that shadows meet, as `taps` and `row_taps` of the geometry, for a volume of this
// many voxels (x, y, z) and as many cells. ArgumentError, by `who`, for a view that is not finite,
// a source within or beside the volume, cells without extent or too wide to have a shadow.
TESSERA_API void measure_rays(RayGeometry& geometry, const double* views, i64 count,
                              const i64 (&voxels)[3], i64 cells, std::string_view who);

// volume: batch axes, z where the geometry has rows, y, x. data: batch axes, views, rows where
// there are some, cells. One dtype, float32 to complex128; views are float64, dense. Operands:
// volume, views, data; or for the adjoint data, views, volume. Outputs are written, not added to.
struct RaysSpec {
  bool adjoint = false;
  Operand volume, data;
  i64 batch_axes = 0;
  RayGeometry geometry;
};

// DTypeError unless the operands are as above; for the kernels.
TESSERA_API void require_rays(const RaysSpec& spec);
TESSERA_API double rays_flops(const RaysSpec& spec);

}  // namespace tessera
