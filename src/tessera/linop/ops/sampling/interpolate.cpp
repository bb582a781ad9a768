// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/sampling/interpolate.hpp"

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {

namespace {

NamedShape interpolate_names(const Array& locs, const Shape& grid_size, const Dims& batch_shape,
                             const std::optional<Dims>& locs_batch_shape,
                             const std::optional<Dims>& grid_shape) {
  const i64 axes = grid_size.size(), rank = locs.ndim() - 1;
  require<ShapeError>(axes >= 1 && axes <= 3, "Interpolate: a grid of shape ", grid_size,
                      "; expected one to three axes");
  require<ShapeError>(rank >= 0, "Interpolate: locations of shape ", locs.shape(),
                      "; expected (..., ", axes, ")");
  const Dims at = locs_batch_shape.value_or(numbered_dims("K", rank)),
             grid = grid_shape ? *grid_shape : nd_shape(axes);
  require<DimError>(grid.size() == axes && !has_ellipses(grid), "Interpolate: the grid of shape ",
                    grid_size, " has the names ", to_text(grid));
  require<DimError>(at.size() == rank && !has_ellipses(at), "Interpolate: locations of shape ",
                    locs.shape(), " have the names ", to_text(at), "; expected ", rank);
  check_names("Interpolate", {&batch_shape, &at, &grid});
  return NamedShape(batch_shape, batch_shape) + NamedShape(grid, at);
}

}  // namespace

Interpolate::Interpolate(Array l, const Shape& grid_size, const Dims& batch_shape,
                         const std::optional<Dims>& locs_batch_shape,
                         const std::optional<Dims>& grid_shape, const SpreadKernel& k,
                         const Frequencies& what, std::string_view who)
    : locs(std::move(l)),
      names(interpolate_names(locs, grid_size, batch_shape, locs_batch_shape, grid_shape)),
      grid(grid_size),
      of(what),
      sorted_(std::make_shared<Sorted>()) {
  const std::string speaker = who.empty() ? cat("Interpolate ", names.str()) : std::string(who);
  kernel = checked_points(locs, grid, k, speaker, of);
  for (i64 a = 0; a < grid.size(); ++a)
    require<ArgumentError>(
        kernel.width[a] <= static_cast<double>(grid[a]), speaker, ": a kernel of width ",
        kernel.width[a], " is larger than the grid along dim '",
        names.ishape[names.ishape.size() - grid.size() + a], "', which has ", grid[a], " points");
}

const GridPoints& Interpolate::points() const {
  const std::lock_guard<std::mutex> alone(sorted_->mutex);
  if (!sorted_->points) sorted_->points = sorted_points(locs, grid, kernel, of);
  return *sorted_->points;
}

Array Interpolate::positions() const {
  return of.image.empty() ? locs : grid_positions(locs, grid, of);
}

std::optional<i64> Interpolate::size(NamedDimension d) const {
  const i64 axes = grid.size(), rank = locs.ndim() - 1;
  for (i64 a = 0; a < axes; ++a)
    if (names.ishape[names.ishape.size() - axes + a] == d) return grid[a];
  for (i64 a = 0; a < rank; ++a)
    if (names.oshape[names.oshape.size() - rank + a] == d) return locs.shape(a);
  return std::nullopt;
}

DType Interpolate::output_dtype(DType t) const { return working_dtype(t); }

namespace {
View in_dtype(Recorder& r, const View& x, DType t) {
  if (x.dtype == t) return x;
  const View c = r.temporary(x.shape(), t, r.device(x));
  record::copy(r, x, c);
  return c;
}
}  // namespace

void Interpolate::apply(Recorder& r, const View& x, const View& y) const {
  const View in = in_dtype(r, x, y.dtype);
  const InterpolateSpec spec{false, operand_of(in), operand_of(y), x.layout.ndim() - grid.size(),
                             kernel};
  const GridPoints& p = points();
  const View reads[] = {in, r.constant(p.locs), r.constant(p.order), r.constant(p.starts)};
  r.launch(&KernelTable::interpolate, "interpolate", spec, reads, y);
}

void Interpolate::apply_adjoint(Recorder& r, const View& y, const View& x) const {
  const View in = in_dtype(r, y, x.dtype);
  record::fill(r, Value(0), x);
  const InterpolateSpec spec{true, operand_of(x), operand_of(in), x.layout.ndim() - grid.size(),
                             kernel};
  const GridPoints& p = points();
  const View reads[] = {in, r.constant(p.locs), r.constant(p.order), r.constant(p.starts)};
  r.launch(&KernelTable::interpolate, "grid", spec, reads, x, {.updates = true});
}

Interpolate Interpolate::from_state(Array locs, const Shape& grid, const NamedShape& n,
                                    SmallVec<double, 3> width, SpreadKind spread, double beta,
                                    i64 norm, bool circular, double scale, const Shape& image,
                                    const Shape& zero) {
  const auto [batch, in] = cut_last(kind, n.ishape, grid.size());
  const Dims at = cut_last(kind, n.oshape, locs.ndim() - 1).second;
  require<ArgumentError>(norm == 1 || norm == 2, "Interpolate ", n.str(), ": norm ", norm,
                         "; expected 1 or 2");
  return Interpolate(
      std::move(locs), grid, batch, at, in,
      SpreadKernel{std::move(width), spread, beta, static_cast<int>(norm), circular, scale},
      Frequencies{image, zero});
}

Interpolate Interpolate::renamed(const Renames& r) const {
  Interpolate a = *this;
  a.names = names.renamed(r);
  return a;
}

Interpolate Interpolate::split(const Tile& tile) const {
  const i64 axes = grid.size(), rank = locs.ndim() - 1;
  for (i64 a = 0; a < axes; ++a) {
    const NamedDimension d = names.ishape[names.ishape.size() - axes + a];
    require<SplitError>(!tile.find(d), "Interpolate ", names.str(), ": the grid dim '", d,
                        "' cannot be cut: kernels of points reach across it");
  }
  Array part = locs;
  for (i64 a = 0; a < rank; ++a)
    if (const Cut* c = tile.find(names.oshape[names.oshape.size() - rank + a]))
      part = part.slice(a, c->start, c->stop);
  Interpolate s = *this;
  if (part.shape() != locs.shape()) {
    s.locs = part;
    s.sorted_ = std::make_shared<Sorted>();
  }
  return s;
}

std::string Interpolate::details() const {
  const SpreadKernel& k = kernel;
  std::string text = k.kind == SpreadKind::spline ? "spline" : cat("kaiser_bessel beta=", k.beta);
  text += " width=";
  for (i64 a = 0; a < k.width.size(); ++a) text += cat(a ? "x" : "", k.width[a]);
  if (k.scale != 1) text += cat(" scale=", k.scale);
  return cat(text, k.norm == 2 ? " norm=2" : "", k.circular ? " circular" : " zero", ", ",
             locs.size() / grid.size(), " points");
}

}  // namespace tessera
