// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/rays/rays.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"
#include "tessera/kernels/rays/ray_math.hpp"

namespace tessera {
namespace {

constexpr double steepest = 16, widest = 1 << 16;  // voxels

// The whole part of the volume that is here lies in front of the source.
void check_source(const RayGeometry& g, const double* view, const i64 (&voxels)[3], i64 number,
                  std::string_view who) {
  const double q[2] = {view[3] - view[0], view[4] - view[1]};
  for (int corner = 0; corner < 4; ++corner) {
    double along = 0;
    for (int a = 0; a < 2; ++a) {
      const i64 at = g.first_voxel[a] + ((corner >> a & 1) != 0 ? voxels[a] : 0);
      along += q[a] * ((static_cast<double>(at) - g.origin[a]) * g.voxel[a] - view[a]);
    }
    require<ArgumentError>(along > 0, who, ": the source of view ", number,
                           " is within the image or beside it; expected all of the image between "
                           "source and detector, or behind the detector");
  }
}

void measure_cell(RayGeometry& g, const double* view, i64 cell, const i64 (&voxels)[3], i64 number,
                  std::string_view who) {
  const double at = static_cast<double>(g.first_cell + cell);
  const rays::RayLine centre = rays::ray_line(g, view, at + 0.5);
  const int axis = rays::main_axis(centre);
  rays::SlabLine edges[2];
  for (int e = 0; e < 2; ++e) {
    const rays::RayLine l = rays::ray_line(g, view, at + e);
    require<ArgumentError>(
        l.direction[axis] * centre.direction[axis] > 0 &&
            std::fabs(l.direction[1 - axis]) <= steepest * std::fabs(l.direction[axis]),
        who, ": cell ", g.first_cell + cell, " of view ", number,
        " is so wide that its rays have no common direction; expected narrower cells");
    edges[e] = rays::on_slabs(l, axis);
  }
  for (const i64 slab : {g.first_voxel[axis], g.first_voxel[axis] + voxels[axis] - 1}) {
    const double c = static_cast<double>(slab) + 0.5;
    const double width =
        std::fabs(edges[1].base - edges[0].base + (edges[1].slope - edges[0].slope) * c);
    require<ArgumentError>(width < widest, who, ": cell ", g.first_cell + cell, " of view ", number,
                           " is ", width, " voxels wide on the image; expected less than ", widest);
    g.taps = std::max(g.taps, static_cast<i64>(std::ceil(width)) + 1);
    if (!g.rows) continue;
    const double height =
        std::fabs(rays::rows_on_slab(g, view, rays::slab_depth(centre, axis, c)).slope);
    require<ArgumentError>(height < widest, who, ": rows of view ", number, " are ", height,
                           " voxels high on the volume; expected less than ", widest);
    g.row_taps = std::max(g.row_taps, static_cast<i64>(std::ceil(height)) + 1);
  }
}

}  // namespace

void measure_rays(RayGeometry& g, const double* views, i64 count, const i64 (&voxels)[3], i64 cells,
                  std::string_view who) {
  for (int a = 0; a < 3; ++a) {
    require<ArgumentError>(g.voxel[a] > 0 && std::isfinite(g.voxel[a]), who, ": a voxel of size ",
                           g.voxel[a], "; expected a positive number");
    require<ArgumentError>(std::isfinite(g.origin[a]) && std::fabs(g.origin[a]) < 1e15, who,
                           ": the centre at index ", g.origin[a] - 0.5,
                           "; expected a finite number");
    require<ArgumentError>(g.first_voxel[a] >= 0 && g.first_voxel[a] < i64{1} << 52, who,
                           ": a part of an image from index ", g.first_voxel[a]);
  }
  require<ArgumentError>(
      g.first_cell >= 0 && g.first_row >= 0 && g.first_cell < i64{1} << 52 &&
          g.first_row < i64{1} << 52 && std::isfinite(g.zero[0]) && std::isfinite(g.zero[1]),
      who, ": a part of a detector from cell ", g.first_cell, " and row ", g.first_row);
  require<ArgumentError>(!g.rows || (g.row_pitch > 0 && std::isfinite(g.row_pitch)), who,
                         ": a row pitch of ", g.row_pitch, "; expected a positive number");
  g.taps = g.row_taps = 2;
  for (i64 v = 0; v < count; ++v) {
    const double* view = views + v * view_numbers;
    for (i64 i = 0; i < view_numbers; ++i)
      require<ArgumentError>(std::isfinite(view[i]) && std::fabs(view[i]) < 1e15, who, ": number ",
                             i, " of view ", v, " is ", view[i], "; expected a finite number");
    // Zero where rays are along the detector, or where it has no extent.
    const double q[2] = {g.beam == Beam::parallel ? view[0] : view[3] - view[0],
                         g.beam == Beam::parallel ? view[1] : view[4] - view[1]};
    const double extent = g.beam == Beam::arc ? view[6] * (q[0] * q[0] + q[1] * q[1])
                                              : q[0] * view[7] - q[1] * view[6];
    require<ArgumentError>(std::fabs(extent) > 0, who, ": view ", v,
                           " has cells without extent; expected a pitch, and a detector across "
                           "the rays");
    if (g.beam != Beam::parallel) check_source(g, view, voxels, v, who);
    for (i64 cell = 0; cell < cells; ++cell) measure_cell(g, view, cell, voxels, v, who);
  }
}

void require_rays(const RaysSpec& spec) {
  const DType t = spec.data.dtype;
  require<DTypeError>(spec.volume.dtype == t && (t == DType::f32 || t == DType::f64 ||
                                                 t == DType::c64 || t == DType::c128),
                      "rays: a volume of ", name(spec.volume.dtype), " and data of ", name(t),
                      "; expected one dtype, float32 to complex128");
}

double rays_flops(const RaysSpec& spec) {
  const Shape& volume = spec.volume.layout.shape;
  const auto slabs = static_cast<double>(std::max(volume.back(), volume[volume.size() - 2]));
  const double sums = static_cast<double>(spec.data.layout.size()) * slabs;
  const RayGeometry& g = spec.geometry;
  return sums * 2.0 * (is_complex(spec.data.dtype) ? 2 : 1) *
         static_cast<double>(g.taps + (g.rows ? g.row_taps : 0));
}

}  // namespace tessera
