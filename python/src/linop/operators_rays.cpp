// SPDX-License-Identifier: Apache-2.0
// Ray transforms: the class, and functions that make one for the usual tomographs.
#include <nanobind/stl/optional.h>

#include "core/sequence.hpp"
#include "linop/operators.hpp"
#include "tessera/linop/ops/transforms/ray_transform.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::optional<Dims> some_dims(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(dims_from(h));
}

// A number for all axes, or a sequence with one for each; none for None.
SmallVec<double, 3> numbers_from(nb::handle h, const char* who) {
  SmallVec<double, 3> all;
  if (h.is_none()) return all;
  if (!has_items(h)) return {value_from(h, who).as<double>()};
  for (nb::handle item : nb::borrow<nb::sequence>(h))
    all.push_back(value_from(item, who).as<double>());
  return all;
}

Beam beam_from(const std::string& text) {
  for (const auto& [name, beam] :
       {std::pair{"parallel", Beam::parallel}, {"flat", Beam::flat}, {"arc", Beam::arc}})
    if (text == name) return beam;
  throw ArgumentError(cat("RayTransform: beam is 'parallel', 'flat' or 'arc', got '", text, "'"));
}

nb::object ray_transform(const ArrayArg& views, const ShapeArg& grid_size,
                         const ShapeArg& detector_size, const std::string& beam,
                         const WidthArg& voxel, const WidthArg& centre, double row_pitch,
                         const DimsArg& batch_shape, const DimsArg& image_shape,
                         const DimsArg& data_shape) {
  RayOptions o;
  o.beam = beam_from(beam);
  o.voxel = numbers_from(voxel, "RayTransform");
  o.centre = numbers_from(centre, "RayTransform");
  o.row_pitch = row_pitch;
  return wrap_linop(RayTransform(as_array(views, "RayTransform").astype(DType::f64),
                                 shape_from(grid_size), shape_from(detector_size), o,
                                 dims_or_any(batch_shape), some_dims(image_shape),
                                 some_dims(data_shape)));
}

nb::object parallel_beam(const ReadArg& angles, const ShapeArg& grid_size, i64 cells, double pitch,
                         double offset, const WidthArg& voxel, const WidthArg& centre,
                         const DimsArg& batch_shape, const DimsArg& image_shape,
                         const DimsArg& data_shape, const TextArg& name) {
  RayOptions o;
  o.voxel = numbers_from(voxel, "ParallelBeam");
  o.centre = numbers_from(centre, "ParallelBeam");
  return named(
      wrap_linop(RayTransform(parallel_views(as_array(angles, "ParallelBeam"), pitch, offset),
                              shape_from(grid_size), {cells}, o, dims_or_any(batch_shape),
                              some_dims(image_shape), some_dims(data_shape))),
      name, "ParallelBeam");
}

nb::object fan_beam(const ReadArg& angles, const ShapeArg& grid_size, i64 cells,
                    double source_distance, double detector_distance, double pitch, double offset,
                    bool arc, const WidthArg& voxel, const WidthArg& centre,
                    const DimsArg& batch_shape, const DimsArg& image_shape,
                    const DimsArg& data_shape, const TextArg& name) {
  RayOptions o;
  o.beam = arc ? Beam::arc : Beam::flat;
  o.voxel = numbers_from(voxel, "FanBeam");
  o.centre = numbers_from(centre, "FanBeam");
  const FanGeometry fan{source_distance, detector_distance, pitch, offset, 0, arc};
  return named(wrap_linop(RayTransform(fan_views(as_array(angles, "FanBeam"), fan),
                                       shape_from(grid_size), {cells}, o, dims_or_any(batch_shape),
                                       some_dims(image_shape), some_dims(data_shape))),
               name, "FanBeam");
}

nb::object cone_beam(const ReadArg& angles, const ShapeArg& grid_size,
                     const ShapeArg& detector_size, double source_distance,
                     double detector_distance, const WidthArg& pitch, const WidthArg& offset,
                     bool arc, const ReadArg& heights, const WidthArg& voxel,
                     const WidthArg& centre, const DimsArg& batch_shape, const DimsArg& image_shape,
                     const DimsArg& data_shape, const TextArg& name) {
  const SmallVec<double, 3> step = numbers_from(pitch, "ConeBeam"),
                            moved = numbers_from(offset, "ConeBeam");
  for (const auto* pair : {&step, &moved})
    require<ArgumentError>(pair->size() == 1 || pair->size() == 2, "ConeBeam: ", pair->size(),
                           " numbers for pitch or offset; expected one, or one for rows and one "
                           "for cells");
  RayOptions o;
  o.beam = arc ? Beam::arc : Beam::flat;
  o.voxel = numbers_from(voxel, "ConeBeam");
  o.centre = numbers_from(centre, "ConeBeam");
  o.row_pitch = step[0];
  const FanGeometry fan{source_distance,
                        detector_distance,
                        step.back(),
                        moved.back(),
                        moved.size() == 2 ? moved[0] : 0,
                        arc};
  const std::optional<Array> z =
      heights.is_none() ? std::nullopt : std::optional(as_array(heights, "ConeBeam"));
  return named(wrap_linop(RayTransform(fan_views(as_array(angles, "ConeBeam"), fan, z),
                                       shape_from(grid_size), shape_from(detector_size), o,
                                       dims_or_any(batch_shape), some_dims(image_shape),
                                       some_dims(data_shape))),
               name, "ConeBeam");
}

const RayTransform& rays_of(const LinopObject& a) { return *a.op.as<RayTransform>(); }

nb::tuple in_image_order(const RayTransform& a, const double* xyz, double less) {
  nb::list all;
  for (i64 i = a.grid.size() - 1; i >= 0; --i) all.append(xyz[i] - less);
  return nb::tuple(all);
}

void bind_ray_class(nb::module_& m) {
  auto c = add_operator<RayTransform>(
      m, "RayTransform",
      "Line integrals of an image or volume along the rays of any tomograph; the adjoint is "
      "backprojection\nwith the same weights. A view is eight numbers: source x y z (beam "
      "'parallel': the direction of\nthe rays), centre of the detector x y z, and its step from "
      "one cell to the next x y ('arc': the\nangle of a cell, and 0). x is the last axis of the "
      "image. Zero lies at index n // 2 of each axis, or\nwhere centre says. ParallelBeam, "
      "FanBeam and ConeBeam make the views.\n\n"
      ">>> A = ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (2, 3), 3)  # rays along y\n"
      ">>> A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).tolist()\n[[5.0, 7.0, 9.0]]\n",
      &ray_transform, "views"_a, "grid_size"_a, "detector_size"_a, "beam"_a = "parallel",
      "voxel"_a = 1.0, "centre"_a = nb::none(), "row_pitch"_a = 1.0, "batch_shape"_a = nb::none(),
      "image_shape"_a = nb::none(), "data_shape"_a = nb::none());
  c.def_prop_ro(
      "views", [](const LinopObject& a) { return wrap(rays_of(a).views.copy()); },
      "A copy of the views, (angles, 8).");
  c.def_prop_ro(
      "beam",
      [](const LinopObject& a) {
        const Beam b = rays_of(a).geometry.beam;
        return nb::str(b == Beam::parallel ? "parallel" : b == Beam::flat ? "flat" : "arc");
      },
      "'parallel', 'flat' or 'arc'.");
  c.def_prop_ro(
      "voxel",
      [](const LinopObject& a) { return in_image_order(rays_of(a), rays_of(a).geometry.voxel, 0); },
      nb::sig("def voxel(self) -> tuple[float, ...]"),
      "The sizes of a voxel, in the order of the image.");
  c.def_prop_ro(
      "centre",
      [](const LinopObject& a) {
        return in_image_order(rays_of(a), rays_of(a).geometry.origin, 0.5);
      },
      nb::sig("def centre(self) -> tuple[float, ...]"),
      "Where zero lies, in indices of the image.");
  c.def_prop_ro(
      "row_pitch", [](const LinopObject& a) { return rays_of(a).geometry.row_pitch; },
      "From one row of the detector to the next.");
}

}  // namespace

void bind_operators_rays(nb::module_& m) {
  bind_ray_class(m);
  m.def("ParallelBeam", &parallel_beam, "angles"_a, "grid_size"_a, "cells"_a, nb::kw_only(),
        "pitch"_a = 1.0, "offset"_a = 0.0, "voxel"_a = 1.0, "centre"_a = nb::none(),
        "batch_shape"_a = nb::none(), "image_shape"_a = nb::none(), "data_shape"_a = nb::none(),
        "name"_a = nb::none(),
        nb::sig("def ParallelBeam(angles: ArrayLike, grid_size: ShapeLike, cells: int, *, pitch: "
                "float = 1.0, offset: float = 0.0, voxel: float | typing.Sequence[float] = 1.0, "
                "centre: float | typing.Sequence[float] | None = None, batch_shape: DimsLike | "
                "None = None, image_shape: DimsLike | None = None, data_shape: DimsLike | None = "
                "None, name: str | None = None) -> RayTransform"),
        documented(
            "ParallelBeam",
            "Parallel rays (Ny, Nx -> A, D): at angle t (radians) those of cell d hold the points\n"
            "x cos t + y sin t = (d - cells // 2) pitch + offset. A volume in slices is a batch of "
            "images.\n\n"
            ">>> A = ts.ParallelBeam([0.0, np.pi / 2], (3, 3), 3)\n"
            ">>> A(np.eye(3) * [1, 2, 4]).numpy().round(6).tolist()\n"
            "[[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]\n"
            ">>> A.ishape, A.H(np.ones((2, 3))).shape\n((..., Ny, Nx), (3, 3))\n"));
  m.def(
      "FanBeam", &fan_beam, "angles"_a, "grid_size"_a, "cells"_a, "source_distance"_a,
      "detector_distance"_a, nb::kw_only(), "pitch"_a = 1.0, "offset"_a = 0.0, "arc"_a = false,
      "voxel"_a = 1.0, "centre"_a = nb::none(), "batch_shape"_a = nb::none(),
      "image_shape"_a = nb::none(), "data_shape"_a = nb::none(), "name"_a = nb::none(),
      nb::sig("def FanBeam(angles: ArrayLike, grid_size: ShapeLike, cells: int, "
              "source_distance: float, detector_distance: float, *, pitch: float = 1.0, offset: "
              "float = 0.0, arc: bool = False, voxel: float | typing.Sequence[float] = 1.0, "
              "centre: float | typing.Sequence[float] | None = None, batch_shape: DimsLike | "
              "None = None, image_shape: DimsLike | None = None, data_shape: DimsLike | None = "
              "None, name: str | None = None) -> RayTransform"),
      documented(
          "FanBeam",
          "Rays from a source to a line of cells (Ny, Nx -> A, D), both turning around the middle "
          "of the\nimage at these distances; far away they are those of ParallelBeam. With arc, "
          "cells lie on a\ncircle around the source, pitch along it.\n\n"
          ">>> A = ts.FanBeam([0.0, 1.0, 2.0], (16, 16), 24, 40.0, 20.0, pitch=1.5)\n"
          ">>> A(np.ones((16, 16))).shape\n(3, 24)\n"));
  m.def(
      "ConeBeam", &cone_beam, "angles"_a, "grid_size"_a, "detector_size"_a, "source_distance"_a,
      "detector_distance"_a, nb::kw_only(), "pitch"_a = 1.0, "offset"_a = 0.0, "arc"_a = false,
      "heights"_a = nb::none(), "voxel"_a = 1.0, "centre"_a = nb::none(),
      "batch_shape"_a = nb::none(), "image_shape"_a = nb::none(), "data_shape"_a = nb::none(),
      "name"_a = nb::none(),
      nb::sig("def ConeBeam(angles: ArrayLike, grid_size: ShapeLike, detector_size: ShapeLike, "
              "source_distance: float, detector_distance: float, *, pitch: float | "
              "typing.Sequence[float] = 1.0, offset: float | typing.Sequence[float] = 0.0, arc: "
              "bool = False, heights: ArrayLike | None = None, voxel: float | "
              "typing.Sequence[float] = 1.0, centre: float | typing.Sequence[float] | None = "
              "None, batch_shape: DimsLike | None = None, image_shape: DimsLike | None = None, "
              "data_shape: DimsLike | None = None, name: str | None = None) -> RayTransform"),
      documented(
          "ConeBeam",
          "Rays from a source to rows of cells (Nz, Ny, Nx -> A, V, D), both turning around the z "
          "axis.\ndetector_size is (rows, cells); pitch and offset are one number, or one for rows "
          "and one for\ncells (one offset is that of cells). With arc the detector is a cylinder "
          "around the source; heights,\none for each view, move both along z, as on a helix.\n\n"
          ">>> A = ts.ConeBeam([0.0, 1.0], (4, 8, 8), (6, 12), 40.0, 20.0, pitch=1.5)\n"
          ">>> A(np.ones((4, 8, 8))).shape, A.oshape\n((2, 6, 12), (..., A, V, D))\n"));
}

}  // namespace tessera::python
