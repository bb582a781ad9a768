// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/nufft.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/fft/fft.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/sampling/interpolate.hpp"
#include "tessera/linop/ops/sampling/sampling.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

// Each name, or the next of its word that is not taken yet.
Dims fresh(const Dims& like, Dims& taken) {
  Dims d;
  for (NamedDimension n : like) {
    d.push_back(n.next_unused(taken));
    taken.push_back(d.back());
  }
  return d;
}

// What the names are made from.
void check_shapes(const Array& locs, const Shape& grid) {
  const i64 axes = grid.size();
  require<ShapeError>(axes >= 1 && axes <= 3 && count_of(grid) > 0, "NUFFT: an image of shape ",
                      grid, "; expected one to three axes that are not empty");
  require<ShapeError>(locs.ndim() >= 1 && locs.shape(locs.ndim() - 1) == axes,
                      "NUFFT: locations of shape ", locs.shape(), " for an image of shape ", grid,
                      "; expected (..., ", axes, ")");
  require<DTypeError>(!is_complex(locs.dtype()) && locs.dtype() != DType::b1,
                      "NUFFT: locations of ", name(locs.dtype()), "; expected real numbers");
}

void check_options(std::string_view who, const Shape& grid, const NufftOptions& o) {
  require<ArgumentError>(!(o.width > max_spread_width), who, ": width ", o.width,
                         " is larger than ", max_spread_width, " points");
  require<ArgumentError>(!o.toeplitz || o.toeplitz_oversamp >= 2, who, ": toeplitz_oversamp ",
                         o.toeplitz_oversamp, "; a Toeplitz kernel needs a grid at least doubled");
  require<DTypeError>(!o.toeplitz_dtype || is_inexact(*o.toeplitz_dtype), who, ": toeplitz_dtype ",
                      name(o.toeplitz_dtype.value_or(DType::c64)),
                      "; expected a floating-point dtype");
  if (!o.apodize_weights) return;
  require<ShapeError>(o.apodize_weights->shape() == grid, who, ": apodize_weights of shape ",
                      o.apodize_weights->shape(), " for an image of shape ", grid);
  const Array w = o.apodize_weights->to(cpu).astype(DType::c128).contiguous();
  for (i64 i = 0; i < w.size(); ++i)
    require<ArgumentError>(
        std::isfinite(w.host<c128>()[i].re) && std::isfinite(w.host<c128>()[i].im), who,
        ": apodize_weights hold a number that is not finite");
}

// Locations that are positions already.
void check_positions(std::string_view who, const Array& locs, const Shape& padded) {
  const Array at = locs.to(cpu).astype(DType::f64).contiguous();
  for (i64 i = 0; i < at.size(); ++i)
    require<ArgumentError>(
        std::isfinite(at.host<double>()[i]) && std::abs(at.host<double>()[i]) < 1e15, who,
        ": location ", i / padded.size(), " is ", at.host<double>()[i], " along axis ",
        i % padded.size(), "; expected a position in a grid of shape ", padded);
}

// Sampling mode: the nearest point of the grid, which repeats, counted from the middle.
Array nearest(const Array& at, const Shape& padded) {
  const Array from = at.to(cpu).astype(DType::f64).contiguous();
  const Array to = empty_dense(from.shape(), DType::i64);
  for (i64 i = 0; i < from.size(); ++i) {
    const i64 n = padded[i % padded.size()];
    const i64 k = (static_cast<i64>(std::nearbyint(from.host<double>()[i])) - n / 2) % n;
    to.host<i64>()[i] = k < 0 ? k + n : k;
  }
  return to.to(at.device());
}

// Weights of the caller's divide out the kernel as it is.
double scale_of_kernel(const NufftOptions& o) {
  return o.apodize_weights ? 1 : nufft::kernel_scale(o.width, o.oversamp);
}

// From the padded spectrum to the points: all of the chain that depends on where they are.
NamedLinop to_points(const NUFFT& a) {
  const NufftOptions& o = a.options;
  const Shape padded = a.padded();
  const std::string who = cat("NUFFT ", a.names.str());
  if (!o.do_prep_locs) check_positions(who, a.locs, padded);
  const Dims batch = a.batch_dims(), points = a.point_dims();
  if (o.mode == NufftMode::sampling) {
    const Array at =
        o.do_prep_locs ? nufft::prepared_locs(a.locs, a.grid_size, padded, who, o.wrap) : a.locs;
    return Sampling::from_stacked_idx(nearest(at, padded), padded, points, a.inner_names, batch);
  }
  SpreadKernel kernel;
  kernel.width = {o.width};
  kernel.beta = nufft::kaiser_bessel_beta(o.width, o.oversamp);
  kernel.scale = scale_of_kernel(o);
  Frequencies of{a.grid_size, {}, o.wrap};
  if (!o.do_prep_locs) {  // positions, counted from the middle of the grid
    of = {padded, {}, true};
    for (i64 n : padded) of.zero.push_back(-(n / 2));
  }
  return Interpolate(a.locs, padded, batch, points, a.inner_names, kernel, of, who);
}

// Before the padded grid: what the kernel will do to the image is divided out.
NamedLinop apodised(const NUFFT& a) {
  const NufftOptions& o = a.options;
  const Device where = a.locs.device();
  const Dims dims = joined(a.batch_dims(), a.image_dims());
  if (o.apodize_weights) return Diagonal(o.apodize_weights->to(where), dims).following();
  const std::vector<Array> along =
      nufft::apodization(a.grid_size, a.padded(), o.width, o.oversamp, scale_of_kernel(o));
  Diagonal d(along.front().to(where), dims);
  for (std::size_t i = 1; i < along.size(); ++i) d.factors.push_back({along[i].to(where)});
  return d.following();
}

// `last`: the step to the points.
NamedLinop make_map(const NUFFT& a, const NamedLinop& last) {
  const NufftOptions& o = a.options;
  const Shape padded = a.padded();
  const Dims batch = a.batch_dims(), image = a.image_dims();
  Dims taken = joined(joined(a.names.ishape, a.names.oshape), a.inner_names);
  const Dims wide = fresh(image, taken);
  std::vector<NamedLinop> steps;
  const bool interpolates = o.mode == NufftMode::interpolate;
  if (interpolates || o.apodize_weights) steps.push_back(apodised(a));
  // The image's middle goes to the first element and frequency zero stays there: a centred transform
  // without its phases, which would be an array of the padded grid's size and a pass over that.
  steps.push_back(Pad(padded, a.grid_size, image, wide, batch, true));
  steps.push_back(FFT(a.axes(), batch, FFT::Grids{wide, a.inner_names}, Norm::ortho, false));
  steps.push_back(last);
  if (!interpolates) return chain(std::move(steps));
  double taps = 1, ratio = 1;
  for (i64 d = 0; d < a.axes(); ++d) {
    taps *= o.width;
    ratio *= static_cast<double>(a.grid_size[d]) / static_cast<double>(padded[d]);
  }
  steps.push_back(Scalar(1 / (taps * std::sqrt(ratio)), joined(batch, a.point_dims())));
  return chain(std::move(steps));
}

bool goes_to_points(const NamedLinop& step) {
  return step.as<Interpolate>() || step.as<Sampling>();
}

Dims part(const Dims& d, i64 first, i64 last) { return Dims(d.begin() + first, d.begin() + last); }

}  // namespace

NUFFT::NUFFT(Array l, Shape grid, const std::optional<Dims>& output_shape,
             const std::optional<Dims>& input_shape, const std::optional<Dims>& input_kshape,
             const Dims& batch, NufftOptions given)
    : locs(std::move(l)), grid_size(std::move(grid)), options(std::move(given)), map(Identity()) {
  check_shapes(locs, grid_size);
  const i64 rank = locs.ndim() - 1;
  const Dims out = output_shape.value_or(numbered_dims("K", rank)),
             in = input_shape.value_or(nd_shape(axes()));
  require<DimError>(in.size() == axes() && !has_ellipses(in), "NUFFT: the image of shape ",
                    grid_size, " has the names ", to_text(in));
  require<DimError>(out.size() == rank && !has_ellipses(out), "NUFFT: locations of shape ",
                    locs.shape(), " have the names ", to_text(out), "; expected ", rank);
  check_names("NUFFT", {&batch, &in, &out});
  names = NamedShape(batch, batch) + NamedShape(in, out);
  Dims taken = joined(names.ishape, names.oshape);
  inner_names = input_kshape.value_or(fresh(nd_shape(axes(), true), taken));
  require<DimError>(inner_names.size() == axes() && !has_ellipses(inner_names),
                    "NUFFT: the frequencies of ", axes(), " axes have the names ",
                    to_text(inner_names));
  check_names("NUFFT", {&batch, &in, &inner_names, &out});
  check_options(cat("NUFFT ", names.str()), grid_size, options);
  map = make_map(*this, to_points(*this));
}

Shape NUFFT::padded() const {
  const bool interpolates = options.mode == NufftMode::interpolate;
  return nufft::padded_size(grid_size, options.oversamp, interpolates ? options.width : 1);
}

Dims NUFFT::batch_dims() const { return part(names.ishape, 0, names.ishape.size() - axes()); }
Dims NUFFT::image_dims() const {
  return part(names.ishape, names.ishape.size() - axes(), names.ishape.size());
}
Dims NUFFT::point_dims() const {
  return part(names.oshape, names.oshape.size() - (locs.ndim() - 1), names.oshape.size());
}

std::optional<i64> NUFFT::size(NamedDimension d) const {
  const Dims image = image_dims(), points = point_dims();
  for (i64 a = 0; a < axes(); ++a)
    if (image[a] == d) return grid_size[a];
  for (i64 a = 0; a < points.size(); ++a)
    if (points[a] == d) return locs.shape(a);
  return std::nullopt;
}

NUFFT NUFFT::from_state(Array locs, const Shape& grid_size, const NamedShape& n,
                        const Dims& inner_names, NufftOptions options) {
  const auto [batch, in] = cut_last(kind, n.ishape, grid_size.size());
  const Dims out = cut_last(kind, n.oshape, locs.ndim() - 1).second;
  return NUFFT(std::move(locs), grid_size, out, in, inner_names, batch, std::move(options));
}

NUFFT NUFFT::renamed(const Renames& r) const {
  NUFFT a = *this;
  a.names = names.renamed(r);
  // Inner names stay apart from the new ones.
  Dims taken = joined(a.names.ishape, a.names.oshape);
  a.inner_names = fresh(inner_names, taken);
  Renames all;
  const auto rename = [&](const Dims& was, const Dims& now) {
    for (i64 i = 0; i < was.size(); ++i) all.emplace_back(was[i], now[i]);
  };
  rename(names.ishape, a.names.ishape);
  rename(names.oshape, a.names.oshape);
  rename(inner_names, a.inner_names);
  // Points stay sorted.
  for (const NamedLinop& step : map.parts())
    if (goes_to_points(step)) a.map = make_map(a, step.rename(all));
  return a;
}

NUFFT NUFFT::split(const Tile& tile) const {
  for (NamedDimension d : image_dims())
    require<SplitError>(!tile.find(d), "NUFFT ", names.str(), ": the image dim '", d,
                        "' cannot be cut: the transform mixes along it");
  NUFFT s = *this;
  Tile cut;
  const Dims points = point_dims();
  for (i64 a = 0; a < points.size(); ++a)
    if (const Cut* c = tile.find(points[a])) {
      s.locs = s.locs.slice(a, c->start, c->stop);
      cut.cuts.push_back(*c);
    }
  // What does not depend on the points stays one array for all tiles.
  if (!cut.empty()) s.map = map.split(cut);
  return s;
}

NUFFT NUFFT::with_locs(const Array& others) const {
  require<ShapeError>(others.shape() == locs.shape(), "NUFFT ", names.str(),
                      ": with_locs takes locations of shape ", locs.shape(), ", got ",
                      others.shape());
  check_shapes(others, grid_size);
  NUFFT a = *this;
  a.locs = others.to(locs.device());
  std::vector<NamedLinop> steps = map.parts();
  for (NamedLinop& step : steps)
    if (goes_to_points(step)) step = to_points(a);
  a.map = chain(std::move(steps));
  return a;
}

NamedLinop nufft::with_locs(const NamedLinop& a, const Array& locs) {
  if (const NUFFT* f = a.as<NUFFT>()) return NamedLinop(f->with_locs(locs)).named(a.name());
  const Stack* s = a.as<Stack>();
  require<ArgumentError>(s && s->idim && s->idim == s->odim, "with_locs: ", a.str(),
                         " is neither a NUFFT nor a stack of NUFFTs, one for each frame");
  require<ShapeError>(locs.ndim() >= 1 && locs.shape(0) == s->isize,
                      "with_locs: locations of shape ", locs.shape(), " for ", s->isize,
                      " frames along '", *s->idim, "'");
  Stack frames = *s;
  for (Stack::Block& b : frames.blocks) b.a = with_locs(b.a, locs.select(0, b.in));
  return NamedLinop(std::move(frames)).named(a.name());
}

std::string NUFFT::details() const {
  std::string text = options.mode == NufftMode::sampling
                         ? "sampling"
                         : cat("oversamp=", options.oversamp, " width=", options.width);
  return cat(text, options.toeplitz ? " toeplitz" : "", ", image ", grid_size, ", ",
             locs.size() / axes(), " points");
}

}  // namespace tessera
