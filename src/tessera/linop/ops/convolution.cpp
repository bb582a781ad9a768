// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/convolution.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

// The next length that transforms quickly: factors 2, 3, 5 and 7 only.
i64 good_length(i64 n) {
  for (;; ++n) {
    i64 rest = n;
    for (i64 f : {2, 3, 5, 7})
      while (rest % f == 0) rest /= f;
    if (rest == 1) return n;
  }
}

Shape grid_of(const Shape& shape, i64 rank) { return Shape(shape.end() - rank, shape.end()); }

// r[k] = sum over m of conj(kernel[m]) kernel[m + k], for every k where they meet.
Array autocorrelation(const Array& kernel) {
  const DType t = kernel.dtype(), work = size_of(t) == 2 ? DType::f32 : t;
  const Array k = kernel.astype(work).contiguous();
  Shape size, left;
  for (i64 n : k.shape()) {
    size.push_back(2 * n - 1);
    left.push_back(n - 1);
  }
  const Array out = empty_dense(size, work, k.device());
  const Shape ones(k.ndim(), 1);
  const ConvolveSpec spec{.in = operand_of(k),
                          .kernel = operand_of(k),
                          .out = operand_of(out),
                          .left = left,
                          .stride = ones,
                          .dilation = ones,
                          .boundary = Boundary::zeros,
                          .conj_kernel = true};
  launch_now(&KernelTable::convolve, "convolve", spec, k.device(), {&k, &k, &out});
  return out;
}

// Estimated times in products of the direct sum. Measured on aarch64: a transform costs about five
// operations per point and factor of two in each direction, at two thirds of the speed of the
// direct sum's products; a pass over memory (padding, multiplying, cropping) about ten a point.
double fft_products(const Shape& shape, const Shape& padded, bool real) {
  double batch = 1;
  for (i64 a = 0; a < shape.size() - padded.size(); ++a) batch *= static_cast<double>(shape[a]);
  const double points = static_cast<double>(count_of(padded));
  return batch * points * (15 * std::log2(points + 1) + 40) * (real ? 0.5 : 1);
}

}  // namespace

Convolution::Convolution(Array kernel, Dims batch_shape, std::optional<Dims> in_grid_shape,
                         std::optional<Dims> out_grid_shape, Boundary padding,
                         ConvolutionNormal normal)
    : spectra(checked_kernel(kind, std::move(kernel))),
      names(ConvolutionNames::make(kind, spectra.kernel(), batch_shape, in_grid_shape,
                                   out_grid_shape)),
      padding_mode(padding),
      normal_mode(normal) {
  require<ArgumentError>(
      normal == ConvolutionNormal::none || padding == Boundary::circular, "Convolution ",
      names.str(), ": normal_mode '", normal == ConvolutionNormal::conv ? "conv" : "fft",
      "' needs padding_mode 'circular'; zeros at the border give no convolution");
}

Convolution Convolution::to(Device d) const {
  Convolution moved = *this;
  moved.spectra = KernelSpectra(kernel().to(d));
  return moved;
}

Shape Convolution::output_shape(const Shape& input) const {
  const i64 rank = kernel().ndim(), first = input.size() - rank;
  require<DimError>(first >= 0, "Convolution ", names.str(), ": convolves ", rank,
                    " axes, got an array of shape ", input);
  for (i64 a = 0; a < rank; ++a)
    require<ShapeError>(
        input[first + a] > 0 && (wraps || kernel().shape(a) / 2 <= input[first + a]),
        "Convolution ", names.str(), ": the kernel of shape ", kernel().shape(),
        " reaches across the whole grid of an array of shape ", input, " along dim '",
        names.ishape[names.ishape.size() - rank + a], "'");
  return input;
}

Shape Convolution::padded_grid(const Shape& input) const {
  Shape grid = grid_of(input, kernel().ndim());
  if (padding_mode == Boundary::zeros)
    for (i64 a = 0; a < grid.size(); ++a) grid[a] = good_length(grid[a] + kernel().shape(a) / 2);
  return grid;
}

void Convolution::apply(Recorder& r, const View& x, const View& y) const {
  const bool narrow = size_of(y.dtype) == 2;  // float16, bfloat16: always direct
  const Shape padded = padded_grid(x.shape());
  const double points = static_cast<double>(y.layout.size()) * static_cast<double>(kernel().size());
  const double direct =
      points * (is_complex(y.dtype) ? 2 : 1) * (is_complex(kernel().dtype()) ? 2 : 1);
  const double by_fft = fft_products(y.shape(), padded, !is_complex(y.dtype));
  View in = x;
  if (x.dtype != y.dtype) record::copy(r, x, in = r.temporary(x.shape(), y.dtype, r.device(x)));
  const bool use_fft = !narrow && direct > by_fft;
  r.note(cat("Convolution ", names.str(), ": ", use_fft ? "by FFT" : "direct", " (about ",
             static_cast<i64>(direct / 1e3), "k products directly, ",
             static_cast<i64>(by_fft / 1e3), "k by FFT)"));
  use_fft ? apply_fft(r, in, y, padded) : apply_direct(r, in, y);
}

void Convolution::apply_direct(Recorder& r, const View& x, const View& y) const {
  const DType real = size_of(y.dtype) == 2 ? DType::f32 : real_of(y.dtype);
  const DType held = is_complex(kernel().dtype()) ? y.dtype : real;
  View k = r.constant(kernel().astype(held));
  Shape left;
  for (i64 a = 0; a < kernel().ndim(); ++a) {
    const i64 n = kernel().shape(a);
    if (!flipped) k.layout = k.layout.slice(a, n - 1, n, -1);
    left.push_back(flipped ? n / 2 : n - 1 - n / 2);
  }
  const Shape ones(kernel().ndim(), 1);
  Shape wide(y.shape().begin(), y.shape().end() - kernel().ndim());
  wide.append(kernel().shape());
  const ConvolveSpec spec{.in = operand_of(x),
                          .kernel = {k.layout.broadcast_to(wide), held},
                          .out = operand_of(y),
                          .left = left,
                          .stride = ones,
                          .dilation = ones,
                          .boundary = padding_mode,
                          .conj_kernel = flipped};
  const View reads[] = {x, k};
  r.launch(&KernelTable::convolve, "convolve", spec, reads, y);
}

void Convolution::apply_fft(Recorder& r, const View& x, const View& y, const Shape& padded) const {
  const SpectrumUse use = flipped ? SpectrumUse::conjugated : SpectrumUse::plain;
  const i64 rank = padded.size();
  if (grid_of(x.shape(), rank) == padded) return record_fft_convolution(r, spectra, use, x, y);
  Shape shape(x.shape().begin(), x.shape().end() - rank);
  shape.append(padded);
  const View wide = r.temporary(shape, y.dtype, r.device(x)),
             result = r.temporary(shape, y.dtype, r.device(y));
  const auto inside = [&](const View& v) {
    Layout l = v.layout;
    for (i64 a = l.ndim() - rank; a < l.ndim(); ++a) l = l.slice(a, 0, x.shape()[a]);
    return sub_view(v, l);
  };
  record::fill(r, Value(0.0), wide);
  record::copy(r, x, inside(wide));
  record_fft_convolution(r, spectra, use, wide, result);
  record::copy(r, inside(result), y);
}

Convolution Convolution::adjoint() const {
  Convolution a = *this;
  a.names = names.H();
  a.flipped = !flipped;
  return a;
}

std::optional<NamedLinop> Convolution::normal() const {
  if (normal_mode == ConvolutionNormal::none) return std::nullopt;
  if (normal_mode == ConvolutionNormal::fft)
    return FFTConvolution(spectra, names.N(), SpectrumUse::squared, true);
  // Circular convolutions commute: the adjoint has the same normal.
  Convolution n = *this;
  n.spectra = KernelSpectra(autocorrelation(kernel()));
  n.names = names.N();
  n.flipped = false;
  n.wraps = true;
  return n;
}

Convolution Convolution::renamed(const Renames& renames) const {
  Convolution c = *this;
  c.names = names.renamed(renames);
  return c;
}

std::string Convolution::details() const {
  return cat("kernel ", kernel().shape(), " ", kernel().dtype(),
             padding_mode == Boundary::zeros ? " zeros" : " circular", flipped ? " adjoint" : "");
}

}  // namespace tessera
