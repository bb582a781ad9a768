// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line integrals of an image or volume along the rays of a tomograph (batch + image -> batch +
// views + detector): parallel rays, a fan to a straight or curved detector, or a cone to a flat or
// cylindrical one. The adjoint, backprojection, has the same weights, to rounding. Zero lies at
// index n // 2 of every axis, as in centred Fourier transforms; lengths are in the unit of `voxel`.
// Filters for direct inversion are not here.
//   NamedLinop A = RayTransform(parallel_views(angles), {128, 128}, {185});   // Ny Nx -> A D

#include "tessera/kernels/rays/rays.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

constexpr Beam last_of(Beam) { return Beam::arc; }

struct RayOptions {
  Beam beam = Beam::parallel;
  SmallVec<double, 3> voxel = {1.0};  // one for all axes, or one each, in the order of the image
  SmallVec<double, 3> centre;         // index of the axis of rotation; n // 2 where empty
  double row_pitch = 1;
};

struct TESSERA_API RayTransform {
  Array views;  // (angles, 8), float64: see Beam
  RayGeometry geometry;
  Shape grid, detector;  // the sizes here: (z,) y, x; (rows,) cells
  NamedShape names;

  static constexpr const char* kind = "RayTransform";
  // An image of two axes with a line of cells, or a volume of three with rows of cells, which are
  // no parallel rays: a volume in slices is an image with a batch. Default names: Ny, Nx -> A, D or
  // Nz, Ny, Nx -> A, V, D. DimError for names that do not fit or repeat, ShapeError for sizes, what
  // measure_rays refuses.
  RayTransform(Array views, const Shape& grid_size, const Shape& detector_size,
               const RayOptions& options = {},
               const Dims& batch_shape = {NamedDimension::ellipses()},
               const std::optional<Dims>& image_shape = {},
               const std::optional<Dims>& data_shape = {});
  NamedShape shape() const { return names; }
  using Numbers = SmallVec<double, 3>;
  auto state() const {
    const RayGeometry& g = geometry;
    return std::tuple(views, g.beam, grid, detector, Numbers(g.voxel, g.voxel + 3),
                      Numbers(g.origin, g.origin + 3), Numbers{g.zero[0], g.zero[1], g.row_pitch},
                      Shape(g.first_voxel, g.first_voxel + 3), Shape{g.first_cell, g.first_row},
                      names);
  }
  static RayTransform from_state(Array views, Beam beam, const Shape& grid, const Shape& detector,
                                 const Numbers& voxel, const Numbers& origin, const Numbers& zero,
                                 const Shape& first_voxel, const Shape& first_cell,
                                 const NamedShape& names);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return views.device(); }
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  void apply_adjoint(Recorder& r, const View& y, const View& x) const;
  RayTransform renamed(const Renames& r) const;
  RayTransform split(const Tile& tile) const;  // along every dim
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.views);
  }

 private:
  // Nothing is measured before the geometry is known.
  RayTransform(Array views, const Shape& grid_size, const Shape& detector_size, NamedShape shape);
  void check_and_measure();
};

// Views at these angles (radians, one axis). The cells of a view lie along (cos t, sin t) in the
// plane of (x, y), its rays go along (-sin t, cos t); `offset` moves the detector along its cells.
TESSERA_API Array parallel_views(const Array& angles, double pitch = 1, double offset = 0);
// The source and the detector on both sides of the axis of rotation. On an arc, `pitch` is the
// length of a cell along it. `heights`: where source and detector are along z, one for each view.
struct FanGeometry {
  double source_distance = 0, detector_distance = 0;  // from the axis of rotation
  double pitch = 1, offset = 0, row_offset = 0;
  bool arc = false;
};
TESSERA_API Array fan_views(const Array& angles, const FanGeometry& fan,
                            const std::optional<Array>& heights = {});

extern template struct NamedLinop::Model<RayTransform>;

}  // namespace tessera
