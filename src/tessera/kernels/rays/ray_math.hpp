// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where rays are, in voxels: arithmetic in double precision that the host and CUDA share. A line
// belongs to an edge between two cells; on a slab with centre c along the main axis of its cell it
// lies at base + slope * c along the other axis. Private to the kernels.
//   RayLine a = ray_line(g, view, 3.0);   SlabLine s = on_slabs(a, main_axis(a));

#include <cmath>

#include "tessera/kernels/rays/rays.hpp"

namespace tessera::rays {

// A point of the line and its direction, in voxels of the whole volume.
struct RayLine {
  double point[2], direction[2];
};

// `edge` counts in cells of the whole detector: cell d lies between edges d and d + 1.
TESSERA_HOST_DEVICE inline RayLine ray_line(const RayGeometry& g, const double* view, double edge) {
  const double e = edge - g.zero[0];
  double p[2] = {view[0], view[1]}, d[2];
  if (g.beam == Beam::parallel) {
    d[0] = p[0];
    d[1] = p[1];
    p[0] = view[3] + e * view[6];
    p[1] = view[4] + e * view[7];
  } else {
    const double q[2] = {view[3] - view[0], view[4] - view[1]};
    if (g.beam == Beam::flat) {
      d[0] = q[0] + e * view[6];
      d[1] = q[1] + e * view[7];
    } else {
      const double c = std::cos(e * view[6]), s = std::sin(e * view[6]);
      d[0] = c * q[0] - s * q[1];
      d[1] = s * q[0] + c * q[1];
    }
  }
  return {{p[0] / g.voxel[0] + g.origin[0], p[1] / g.voxel[1] + g.origin[1]},
          {d[0] / g.voxel[0], d[1] / g.voxel[1]}};
}

// 0 where slabs are columns of constant x, 1 where they are rows of constant y.
TESSERA_HOST_DEVICE inline int main_axis(const RayLine& l) {
  return std::fabs(l.direction[1]) >= std::fabs(l.direction[0]) ? 1 : 0;
}

struct SlabLine {
  double base, slope;
};
TESSERA_HOST_DEVICE inline SlabLine on_slabs(const RayLine& l, int axis) {
  const double slope = l.direction[1 - axis] / l.direction[axis];
  return {l.point[1 - axis] - l.point[axis] * slope, slope};
}

// The length within one slab of the line in the plane.
TESSERA_HOST_DEVICE inline double slab_length(const RayGeometry& g, const RayLine& l, int axis) {
  const double slope = l.direction[1 - axis] / l.direction[axis];
  const double across = slope * g.voxel[1 - axis], along = g.voxel[axis];
  return std::sqrt(across * across + along * along);
}

// How far along the way from the source to the detector the line meets the slab with centre c.
TESSERA_HOST_DEVICE inline double slab_depth(const RayLine& l, int axis, double c) {
  return (c - l.point[axis]) / l.direction[axis];
}

// The edges of rows on a slab at this depth, in voxels along z: base + slope * edge.
TESSERA_HOST_DEVICE inline SlabLine rows_on_slab(const RayGeometry& g, const double* view,
                                                 double depth) {
  const double slope = depth * g.row_pitch / g.voxel[2];
  const double centre = (view[2] + depth * (view[5] - view[2])) / g.voxel[2] + g.origin[2];
  return {centre - slope * g.zero[1], slope};
}

// How far the centre of a row is above the source.
TESSERA_HOST_DEVICE inline double row_height(const RayGeometry& g, const double* view, i64 row) {
  return view[5] + (static_cast<double>(row) + 0.5 - g.zero[1]) * g.row_pitch - view[2];
}

// By how much a ray to the centre of a row is longer than its projection onto the plane.
TESSERA_HOST_DEVICE inline double row_stretch(const RayGeometry& g, const double* view,
                                              const RayLine& l, i64 row) {
  const double z = row_height(g, view, row);
  const double x = l.direction[0] * g.voxel[0], y = l.direction[1] * g.voxel[1];
  return std::sqrt(1 + z * z / (x * x + y * y));
}

// The edge, in cells of the whole detector, whose line meets a point given in voxels.
TESSERA_HOST_DEVICE inline double edge_through(const RayGeometry& g, const double* view, double x,
                                               double y) {
  const double p[2] = {(x - g.origin[0]) * g.voxel[0], (y - g.origin[1]) * g.voxel[1]};
  if (g.beam == Beam::parallel) {
    const double w[2] = {p[0] - view[3], p[1] - view[4]};
    return g.zero[0] + (w[0] * view[1] - w[1] * view[0]) / (view[6] * view[1] - view[7] * view[0]);
  }
  const double w[2] = {p[0] - view[0], p[1] - view[1]},
               q[2] = {view[3] - view[0], view[4] - view[1]};
  const double across = q[0] * w[1] - q[1] * w[0];
  if (g.beam == Beam::flat) return g.zero[0] - across / (view[6] * w[1] - view[7] * w[0]);
  return g.zero[0] + std::atan2(across, q[0] * w[0] + q[1] * w[1]) / view[6];
}

// The part of [low, high] within voxel v, over its length: what is left of a shadow there.
TESSERA_HOST_DEVICE inline double covered(double low, double high, double v) {
  const double from = low > v ? low : v, to = high < v + 1 ? high : v + 1;
  return to > from ? to - from : 0;
}

// A shadow without extent lies at the source, outside of the volume: it covers nothing.
inline constexpr double least_shadow = 1e-30;

}  // namespace tessera::rays
