// SPDX-License-Identifier: Apache-2.0
// Normal operators of a NUFFT as convolutions.
#include <algorithm>
#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/fft/fft.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

// Note [Toeplitz]
// A.H diag(w) A is the convolution with p[d] = (1/N) sum over k of w(k) exp(2 pi i k d / N), for
// differences |d| < N. Its spectrum on a grid of 2N or more makes it two FFTs and a product. p
// itself is an adjoint NUFFT of w on that grid, made with a kernel that is more accurate than A's,
// so that the error that is left is A's own.
NufftOptions accurate_options(const NufftOptions& o) {
  NufftOptions more;
  more.wrap = true;
  // Errors fall as exp(-pi width sqrt(1 - 1/oversamp)): the same error, and two points more; on a
  // finer grid where that is wider than kernels get.
  for (double oversamp : {1.5, 2.0}) {
    more.oversamp = oversamp;
    const double same =
        o.width * std::sqrt((1 - 1 / std::max(o.oversamp, 1.1)) / (1 - 1 / oversamp));
    more.width = std::ceil(same) + 2;
    if (more.width <= 16) return more;
  }
  more.width = 16;
  return more;
}

}  // namespace

namespace nufft {

Array toeplitz_kernel(const NUFFT& a, const Array& weights, const Shape& doubled) {
  const i64 axes = a.axes(), rank = a.locs.ndim() - 1, lead = weights.ndim() - rank;
  const Array from = a.locs.to(cpu).astype(DType::f64).contiguous();
  const Array scaled =
      Array(Storage::allocate(cpu, from.bytes()), Layout::contiguous(from.shape()), DType::f64);
  const Shape padded = a.padded();
  double factor = 1;
  for (i64 d = 0; d < axes; ++d)
    factor *= std::sqrt(static_cast<double>(doubled[d])) / static_cast<double>(a.grid_size[d]);
  for (i64 i = 0; i < from.size(); ++i) {
    const i64 d = i % axes;
    double k = from.host<double>()[i];
    if (!a.options.do_prep_locs) {  // back from positions to frequencies
      const i64 centre = padded[d] / 2;
      k = (k - static_cast<double>(centre)) * static_cast<double>(a.grid_size[d]) /
          static_cast<double>(padded[d]);
    }
    scaled.host<double>()[i] =
        k * static_cast<double>(doubled[d]) / static_cast<double>(a.grid_size[d]);
  }
  const NamedLinop wide = NUFFT(scaled.to(weights.device()), doubled, {}, {}, {},
                                {NamedDimension::ellipses()}, accurate_options(a.options));
  const bool real = !is_complex(weights.dtype());
  const auto spectrum = [&](const Array& w) {
    Array p = ops::multiply(wide.H()(w.astype(DType::c128)), factor);
    Axes all;
    for (i64 d = 0; d < axes; ++d) {
      all.push_back(d);
      // The difference -N/2 of an even grid has no partner and is never used.
      if (doubled[d] % 2 == 0) p.slice(d, 0, 1).fill(Value(0));
    }
    const Array found = fftn(fftshift(p, all, true), all, Norm::backward);
    return real ? found.real() : found;
  };
  // One kernel after the other: making one holds several times its size.
  const Shape points(weights.shape().begin() + lead, weights.shape().end());
  Shape kernels(weights.shape().begin(), weights.shape().begin() + lead);
  const i64 count = count_of(kernels);
  const auto several = [&](const Shape& each) {
    Shape s{count};
    s.append(each);
    return s;
  };
  const Array given = weights.reshape(several(points)),
              made =
                  empty_dense(several(doubled), real ? DType::f64 : DType::c128, weights.device());
  for (i64 i = 0; i < count; ++i) made.select(0, i).copy_from(spectrum(given.select(0, i)));
  kernels.append(doubled);
  return made.reshape(kernels);
}

}  // namespace nufft

namespace {

// Pads to the doubled grid and transforms; the spectrum of the convolution that `weights` make.
struct Convolved {
  NamedLinop to_frequencies;
  Array kernel;
};
Convolved convolved(const NUFFT& a, const Array& weights) {
  const NufftOptions& o = a.options;
  Shape doubled;
  for (i64 n : a.grid_size)
    doubled.push_back(static_cast<i64>(std::ceil(static_cast<double>(n) * o.toeplitz_oversamp)));
  Array kernel = nufft::toeplitz_kernel(a, weights, doubled);
  if (o.toeplitz_dtype)
    kernel = kernel.astype(is_complex(kernel.dtype()) ? complex_of(*o.toeplitz_dtype)
                                                      : real_of(*o.toeplitz_dtype));
  const Dims batch = a.batch_dims(), image = a.image_dims();
  Dims taken = joined(a.names.ishape, a.inner_names), wide;
  for (NamedDimension d : image) {
    wide.push_back(d.next_unused(taken));
    taken.push_back(wide.back());
  }
  const NamedLinop pad = Pad(doubled, a.grid_size, image, wide, batch);
  const NamedLinop transform =
      FFT(a.axes(), batch, FFT::Grids{wide, a.inner_names}, Norm::ortho, false);
  if (!o.apodize_weights) return {chain({pad, transform}), kernel};
  // The kernel is that of the exact transform: weights of the caller's count as far as they differ
  // from those that make ours exact.
  Array ratio = o.apodize_weights->to(cpu);
  for (const Array& own : nufft::apodization(a.grid_size, a.padded(), o.width, o.oversamp))
    ratio = ops::divide(ratio, own);
  ratio = ratio.to(a.locs.device());
  return {chain({Diagonal(ratio, joined(batch, image)).following(), pad, transform}), kernel};
}

// A normal mixes along the image: its output has names of its own there, the ones that it has when
// it is not made a convolution.
NamedLinop named_anew(const NUFFT& a, const NamedLinop& normal) {
  const Relabel* under = normal.as<Relabel>();
  const NamedLinop n = under ? under->a : normal;
  const Dims out = n.oshape(), image = a.image_dims();
  Dims taken = dims_of(a.names);
  Renames names;
  for (i64 i = 0; i < image.size(); ++i) {
    const NamedDimension next = image[i].next_unused(taken);
    taken.push_back(next);
    const NamedDimension was = out[out.size() - image.size() + i];
    if (!(was == image[i])) names.emplace_back(was, next);
  }
  return n.rename(names);
}

NamedLinop convolution(const NUFFT& a, const Array& weights) {
  const Convolved c = convolved(a, weights);
  return named_anew(a, c.to_frequencies.normal(
                           Diagonal(c.kernel, joined(a.batch_dims(), a.inner_names)).following()));
}

// Why normals are made as they are.
std::string reason_of_normal(const NUFFT& a) {
  const NufftOptions& o = a.options;
  const nufft::NormalCost cost =
      nufft::normal_cost(a.grid_size, a.locs.size() / a.axes(), {o.oversamp, o.width});
  return cat("NUFFT ", a.names.str(), ": normals ", o.toeplitz ? "as a convolution" : "by gridding",
             "; predicted for one batch and thread: ", cost.toeplitz * 1e-6,
             " ms as a convolution, ", cost.gridding * 1e-6, " ms by gridding");
}

std::optional<NamedLinop> explained(const NUFFT& a, std::optional<NamedLinop> normal) {
  if (!normal || !a.options.chosen_by_cost) return normal;
  std::vector<std::string> notes = normal->notes();
  notes.push_back(reason_of_normal(a));
  return normal->noted(std::move(notes));
}

bool ends_with(const Dims& all, const Dims& end) {
  return all.size() >= end.size() && std::equal(end.begin(), end.end(), all.end() - end.size());
}

// Whether a matrix at each point is worth its convolutions, where nobody asked for them: there are
// as many as the matrix has elements. Each kernel is made in about the time of a normal by gridding
// and read by every normal, of which there are some tens.
bool matrices_pay(const NUFFT& a, const NamedWeight& matrix, const Dims& inputs) {
  constexpr double normals = 20, nanoseconds_of_number = 2;
  const Dims points = a.point_dims();
  double kernels = 1, images = 1, numbers = 1;
  for (i64 i = 0; i < matrix.dims.size(); ++i) {
    const NamedDimension d = matrix.dims[i];
    if (contains(points, d)) continue;
    const auto size = static_cast<double>(matrix.weight.shape(i));
    kernels *= size;
    if (contains(inputs, d)) images *= size;
  }
  const NufftOptions& o = a.options;
  for (i64 n : a.grid_size) numbers *= static_cast<double>(n) * o.toeplitz_oversamp;
  numbers *= kernels;
  const nufft::NormalCost one =
      nufft::normal_cost(a.grid_size, a.locs.size() / a.axes(), {o.oversamp, o.width});
  const double saved = images * (one.gridding - one.toeplitz) - numbers * nanoseconds_of_number;
  return numbers <= static_cast<double>(nufft::most_kernel_numbers) &&
         normals * saved > kernels * one.gridding;
}

// A matrix between batches at every point: a convolution for each of its elements, so a matrix at
// every frequency.
std::optional<NamedLinop> matrix_convolution(const NUFFT& a, const NamedWeight& matrix,
                                             const NamedShape& names) {
  const Dims points = a.point_dims();
  if (!ends_with(names.ishape, points) || !ends_with(names.oshape, points)) return std::nullopt;
  Dims lead, broadcast;
  for (NamedDimension d : matrix.dims)
    if (!contains(points, d)) lead.push_back(d);
  for (NamedDimension d : matrix.broadcast_dims)
    if (!contains(points, d)) broadcast.push_back(d);
  const Array& w = matrix.weight;
  const Array ordered =
      w.view(aligned(w.layout(), matrix.dims, joined(lead, points))).astype(w.dtype());
  const Shape sizes(a.locs.shape().begin(), a.locs.shape().end() - 1);
  const Array weights = ops::multiply(matrix.conjugated ? ops::conj(ordered) : ordered,
                                      ones(sizes, real_of(w.dtype()), w.device()));
  const Convolved c = convolved(a, weights);
  // A spectrum is neither whole numbers nor held by half precision, whatever the matrix is.
  const DType precision = promote(w.dtype(), DType::f32);
  const Array kernel = a.options.toeplitz_dtype
                           ? c.kernel
                           : c.kernel.astype(is_complex(c.kernel.dtype()) ? complex_of(precision)
                                                                          : real_of(precision));
  auto at_frequencies = [&](const Dims& d) {
    return joined(Dims(d.begin(), d.end() - points.size()), a.inner_names);
  };
  return named_anew(a, c.to_frequencies.normal(Dense(kernel, joined(lead, a.inner_names),
                                                     at_frequencies(names.ishape),
                                                     at_frequencies(names.oshape), broadcast)));
}

}  // namespace

void NUFFT::apply(Recorder& r, const View& x, const View& y) const {
  if (options.chosen_by_cost && !options.toeplitz) r.note(reason_of_normal(*this));
  map.record(r, x, y);
}

std::optional<NamedLinop> NUFFT::normal() const {
  if (!options.toeplitz) return std::nullopt;
  if (options.mode == NufftMode::sampling) return named_anew(*this, map.N());
  const Shape points(locs.shape().begin(), locs.shape().end() - 1);
  return explained(*this, convolution(*this, ones(points, DType::f64, locs.device())));
}

std::optional<NamedLinop> NUFFT::normal(const NamedLinop& inner) const {
  if (!options.toeplitz || options.mode == NufftMode::sampling) return std::nullopt;
  const Shape points(locs.shape().begin(), locs.shape().end() - 1);
  if (const auto c = inner.offers().factor())  // one number for all batches, whatever it calls them
    return explained(
        *this, convolution(*this, NamedLinop(Scalar(*c))(ones(points, DType::f64, locs.device()))));
  if (const auto m = inner.offers().named_weight()) {
    if (options.chosen_by_cost && !matrices_pay(*this, *m, inner.ishape())) return std::nullopt;
    return explained(*this, matrix_convolution(*this, *m, inner.shape()));
  }
  const std::optional<Shape> shape = inner.offers().weight_shape();
  if (!shape) return std::nullopt;
  // What the weight does to ones, along the points and the batches that it tells apart.
  Shape all = points;
  const Shape& weight = *shape;
  for (i64 back = points.size() + 1; back <= weight.size(); ++back)
    all.insert(0, weight[weight.size() - back]);
  if (!has_ellipses(inner.ishape()))
    while (all.size() < inner.ishape().size()) all.insert(0, 1);
  return explained(*this, convolution(*this, inner(ones(all, DType::f64, locs.device()))));
}

}  // namespace tessera
