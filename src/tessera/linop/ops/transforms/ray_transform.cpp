// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/ray_transform.hpp"

#include <cmath>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

NamedShape ray_names(const Shape& grid, const Shape& detector, const Dims& batch,
                     const std::optional<Dims>& image, const std::optional<Dims>& data) {
  const i64 axes = grid.size();
  require<ShapeError>(axes == 2 || axes == 3, "RayTransform: an image of shape ", grid,
                      "; expected two axes, or three for a cone of rays");
  require<ShapeError>(detector.size() == axes - 1, "RayTransform: a detector of shape ", detector,
                      " for an image of shape ", grid, "; expected ", axes - 1,
                      axes == 2 ? " axis" : " axes");
  const Dims in = image.value_or(axes == 2 ? Dims{"Ny", "Nx"} : Dims{"Nz", "Ny", "Nx"}),
             out = data.value_or(axes == 2 ? Dims{"A", "D"} : Dims{"A", "V", "D"});
  require<DimError>(in.size() == axes && !has_ellipses(in), "RayTransform: the image of shape ",
                    grid, " has the names ", to_text(in));
  require<DimError>(out.size() == axes && !has_ellipses(out),
                    "RayTransform: views and a detector of shape ", detector, " have the names ",
                    to_text(out), "; expected ", axes);
  check_names("RayTransform", {&batch, &in, &out});
  return NamedShape(batch, batch) + NamedShape(in, out);
}

double number_of(const SmallVec<double, 3>& all, i64 axes, i64 axis, const char* what) {
  require<ArgumentError>(all.size() == 1 || all.size() == axes, "RayTransform: ", all.size(), " ",
                         what, " for an image of ", axes,
                         " axes; expected one for all, or one each");
  return all[all.size() == 1 ? 0 : axis];
}

std::vector<double> numbers_along_views(const Array& a, const char* who, const char* what) {
  require<ShapeError>(a.ndim() == 1, who, ": ", what, " of shape ", a.shape(),
                      "; expected one axis");
  require<DTypeError>(!is_complex(a.dtype()), who, ": ", what, " of ", name(a.dtype()),
                      "; expected real numbers");
  const Array host = a.to(cpu).astype(DType::f64).contiguous();
  return {host.host<double>(), host.host<double>() + host.size()};
}

Array table_of(const std::vector<double>& numbers, Device d) {
  const auto n = static_cast<i64>(numbers.size());
  const Array a(Storage::allocate(cpu, n * i64{sizeof(double)}),
                Layout::contiguous({n / view_numbers, view_numbers}), DType::f64);
  std::copy(numbers.begin(), numbers.end(), a.host<double>());
  return a.to(d);
}

View in_data_dtype(Recorder& r, const View& x, DType t) {
  if (x.dtype == t) return x;
  const View c = r.temporary(x.shape(), t, r.device(x));
  record::copy(r, x, c);
  return c;
}

}  // namespace

RayTransform::RayTransform(Array v, const Shape& grid_size, const Shape& detector_size,
                           NamedShape shape)
    : views(std::move(v)), grid(grid_size), detector(detector_size), names(std::move(shape)) {}

RayTransform::RayTransform(Array v, const Shape& grid_size, const Shape& detector_size,
                           const RayOptions& options, const Dims& batch_shape,
                           const std::optional<Dims>& image_shape,
                           const std::optional<Dims>& data_shape)
    : RayTransform(std::move(v), grid_size, detector_size,
                   ray_names(grid_size, detector_size, batch_shape, image_shape, data_shape)) {
  const i64 axes = grid.size();
  RayGeometry& g = geometry;
  g.beam = options.beam;
  for (i64 a = 0; a < axes; ++a) {
    const i64 here = axes - 1 - a;  // x first
    g.voxel[here] = number_of(options.voxel, axes, a, "voxel sizes");
    const i64 middle = grid[a] / 2;
    g.origin[here] = 0.5 + (options.centre.empty()
                                ? static_cast<double>(middle)
                                : number_of(options.centre, axes, a, "coordinates of the centre"));
  }
  const i64 cell = detector.back() / 2, row = detector[0] / 2;
  g.zero[0] = static_cast<double>(cell) + 0.5;
  if (axes == 3) g.zero[1] = static_cast<double>(row) + 0.5;
  g.row_pitch = options.row_pitch;
  check_and_measure();
}

void RayTransform::check_and_measure() {
  const std::string who = cat("RayTransform ", names.str());
  for (const Shape* s : {&grid, &detector})
    for (i64 n : *s)
      require<ShapeError>(n >= 1, who, ": an image of shape ", grid, " and a detector of shape ",
                          detector, "; expected sizes of at least 1");
  require<ShapeError>(views.ndim() == 2 && views.shape(1) == view_numbers, who, ": views of shape ",
                      views.shape(), "; expected (angles, ", view_numbers, ")");
  require<DTypeError>(views.dtype() == DType::f64, who, ": views of ", name(views.dtype()),
                      "; expected float64");
  views = views.contiguous();
  geometry.rows = grid.size() == 3;
  require<ArgumentError>(!geometry.rows || geometry.beam != Beam::parallel, who,
                         ": parallel rays in a volume; give its slices as a batch of images");
  const i64 voxels[3] = {grid.back(), grid[grid.size() - 2], geometry.rows ? grid[0] : 1};
  const Array host = views.to(cpu);
  measure_rays(geometry, host.host<double>(), host.shape(0), voxels, detector.back(), who);
}

std::optional<i64> RayTransform::size(NamedDimension d) const {
  const i64 axes = grid.size();
  for (i64 a = 0; a < axes; ++a) {
    if (names.ishape[names.ishape.size() - axes + a] == d) return grid[a];
    if (names.oshape[names.oshape.size() - axes + a] == d)
      return a == 0 ? views.shape(0) : detector[a - 1];
  }
  return std::nullopt;
}

DType RayTransform::output_dtype(DType t) const { return working_dtype(t); }

void RayTransform::apply(Recorder& r, const View& x, const View& y) const {
  const View in = in_data_dtype(r, x, y.dtype);
  const RaysSpec spec{false, operand_of(in), operand_of(y), x.layout.ndim() - grid.size(),
                      geometry};
  const View reads[] = {in, r.constant(views)};
  r.launch(&KernelTable::rays, "rays", spec, reads, y);
}

void RayTransform::apply_adjoint(Recorder& r, const View& y, const View& x) const {
  const View in = in_data_dtype(r, y, x.dtype);
  const RaysSpec spec{true, operand_of(x), operand_of(in), x.layout.ndim() - grid.size(), geometry};
  const View reads[] = {in, r.constant(views)};
  r.launch(&KernelTable::rays, "backproject", spec, reads, x);
}

RayTransform RayTransform::from_state(Array views, Beam beam, const Shape& grid,
                                      const Shape& detector, const Numbers& voxel,
                                      const Numbers& origin, const Numbers& zero,
                                      const Shape& first_voxel, const Shape& first_cell,
                                      const NamedShape& n) {
  const auto [batch, in] = cut_last(kind, n.ishape, grid.size());
  const Dims out = cut_last(kind, n.oshape, grid.size()).second;
  require<ArgumentError>(voxel.size() == 3 && origin.size() == 3 && zero.size() == 3 &&
                             first_voxel.size() == 3 && first_cell.size() == 2,
                         "RayTransform ", n.str(), ": a description with lists that are too short");
  RayTransform a(std::move(views), grid, detector, ray_names(grid, detector, batch, in, out));
  RayGeometry& g = a.geometry;
  g.beam = beam;
  for (i64 i = 0; i < 3; ++i) {
    g.voxel[i] = voxel[i];
    g.origin[i] = origin[i];
    g.first_voxel[i] = first_voxel[i];
  }
  g.zero[0] = zero[0];
  g.zero[1] = zero[1];
  g.row_pitch = zero[2];
  g.first_cell = first_cell[0];
  g.first_row = first_cell[1];
  a.check_and_measure();
  return a;
}

RayTransform RayTransform::renamed(const Renames& r) const {
  RayTransform a = *this;
  a.names = names.renamed(r);
  return a;
}

// Parts know where they lie in the whole: their weights are those of the whole, to the bit.
RayTransform RayTransform::split(const Tile& tile) const {
  RayTransform s = *this;
  const i64 axes = grid.size();
  for (i64 a = 0; a < axes; ++a) {
    if (const Cut* c = tile.find(names.ishape[names.ishape.size() - axes + a])) {
      s.geometry.first_voxel[axes - 1 - a] += c->start;
      s.grid[a] = c->size();
    }
    const Cut* c = tile.find(names.oshape[names.oshape.size() - axes + a]);
    if (!c) continue;
    if (a == 0) {
      s.views = views.slice(0, c->start, c->stop);
      continue;
    }
    (a == axes - 1 ? s.geometry.first_cell : s.geometry.first_row) += c->start;
    s.detector[a - 1] = c->size();
  }
  return s;
}

std::string RayTransform::details() const {
  const char* beam = geometry.beam == Beam::parallel ? "parallel" : geometry.rows ? "cone" : "fan";
  return cat(beam, geometry.beam == Beam::arc ? " arc" : "", ", ", views.shape(0), " views of ",
             count_of(detector), " cells");
}

Array parallel_views(const Array& angles, double pitch, double offset) {
  std::vector<double> all;
  for (const double t : numbers_along_views(angles, "parallel_views", "angles")) {
    const double c = std::cos(t), s = std::sin(t);
    for (const double v : {-s, c, 0.0, offset * c, offset * s, 0.0, pitch * c, pitch * s})
      all.push_back(v);
  }
  return table_of(all, angles.device());
}

Array fan_views(const Array& angles, const FanGeometry& fan, const std::optional<Array>& heights) {
  const double rs = fan.source_distance, rd = fan.detector_distance;
  require<ArgumentError>(rs > 0 && rd >= 0, "fan_views: distances ", rs, " and ", rd,
                         " of source and detector; expected a positive one, and one from 0");
  const std::vector<double> at = numbers_along_views(angles, "fan_views", "angles");
  std::vector<double> z(at.size(), 0), all;
  if (heights) z = numbers_along_views(*heights, "fan_views", "heights");
  require<ShapeError>(z.size() == at.size(), "fan_views: ", z.size(), " heights for ", at.size(),
                      " angles");
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double c = std::cos(at[i]), s = std::sin(at[i]);
    // On an arc the offset turns the middle of the detector around the source.
    const double turn = fan.arc ? -fan.offset / (rs + rd) : 0, step = fan.arc ? 0 : fan.offset;
    const double qx = -s * (rs + rd), qy = c * (rs + rd);
    const double cx = rs * s + std::cos(turn) * qx - std::sin(turn) * qy + step * c,
                 cy = -rs * c + std::sin(turn) * qx + std::cos(turn) * qy + step * s;
    for (const double v :
         {rs * s, -rs * c, z[i], cx, cy, z[i] + fan.row_offset,
          fan.arc ? -fan.pitch / (rs + rd) : fan.pitch * c, fan.arc ? 0 : fan.pitch * s})
      all.push_back(v);
  }
  return table_of(all, angles.device());
}

}  // namespace tessera
