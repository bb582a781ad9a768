// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/convolution.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/dim_sizes.hpp"

namespace tessera {
namespace {

// The next length that transforms quickly: factors 2, 3, 5 and 7 only, enough of them 2.
i64 good_length(i64 n) {
  const i64 twos = n >= 256 ? 16 : n >= 32 ? 4 : 1;
  for (n = (n + twos - 1) / twos * twos;; n += twos) {
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

// Estimated times, in products of the direct sum. Measured on aarch64: a point of a complex
// transform costs about 7 products per factor of two in each direction, passes over memory
// (padding, multiplying, cropping) 40; real ones half of it.
double fft_products(double transforms, double points, bool real) {
  return transforms * points * (15 * std::log2(points + 1) + 40) * (real ? 0.5 : 1);
}

// Note [sections]: along one axis a long signal is cut into sections of `length` that overlap by
// the kernel's size less one; each is convolved circularly, and of each the part that did not wrap
// is kept. Short transforms are cheaper than one long one.
struct Sections {
  i64 length = 0, step = 0, count = 0;
  double products = 0;
};

Sections best_sections(i64 taps, i64 points, double batch, bool real) {
  Sections best;
  for (i64 length = 64; length < points; length *= 2) {
    if (length < 2 * taps) continue;
    const i64 step = length - taps + 1, count = (points + step - 1) / step;
    const double cost =
        fft_products(batch * static_cast<double>(count), static_cast<double>(length), real);
    if (best.count == 0 || cost < best.products) best = {length, step, count, cost};
  }
  return best;
}

double batch_of(const Shape& shape, i64 rank) {
  double n = 1;
  for (i64 a = 0; a < shape.size() - rank; ++a) n *= static_cast<double>(shape[a]);
  return n;
}

// n elements of the last axis from `start`.
View piece(const View& v, i64 start, i64 n) {
  return sub_view(v, v.layout.slice(v.layout.ndim() - 1, start, n));
}

// `count` rows of `n` elements of the last axis, `step` apart.
View rows_of(const View& v, i64 count, i64 step, i64 n) {
  Layout l = v.layout;
  const i64 stride = l.strides.back();
  l.shape.back() = count;
  l.strides.back() = stride * step;
  l.shape.push_back(n);
  l.strides.push_back(stride);
  return sub_view(v, l);
}

void record_sections(Recorder& r, const KernelSpectra& spectra, bool flipped, Boundary boundary,
                     const Sections& s, const View& x, const View& y) {
  const i64 n = x.shape().back(), taps = spectra.kernel().size();
  const i64 left = flipped ? taps / 2 : taps - 1 - taps / 2, right = taps - 1 - left;
  Shape shape = x.shape();
  shape.back() = (s.count - 1) * s.step + s.length;
  const View wide = r.temporary(shape, y.dtype, r.device(x));
  record::copy(r, x, piece(wide, left, n));
  i64 end = left + n;
  if (boundary == Boundary::circular) {
    if (left > 0) record::copy(r, piece(x, n - left, left), piece(wide, 0, left));
    if (right > 0) record::copy(r, piece(x, 0, right), piece(wide, end, right));
    end += right;
  } else if (left > 0) {
    record::fill(r, Value(0.0), piece(wide, 0, left));
  }
  if (shape.back() > end) record::fill(r, Value(0.0), piece(wide, end, shape.back() - end));
  const View in = rows_of(wide, s.count, s.step, s.length),
             out = r.temporary(in.shape(), y.dtype, r.device(y));
  record_fft_convolution(r, spectra, flipped ? SpectrumUse::conjugated : SpectrumUse::plain, in,
                         out);
  const i64 full = n / s.step, axis = out.layout.ndim() - 2;
  if (full > 0)
    record::copy(r, sub_view(out, piece(out, left, s.step).layout.slice(axis, 0, full)),
                 rows_of(y, full, s.step, s.step));
  if (full < s.count)
    record::copy(r, sub_view(out, piece(out, left, n - full * s.step).layout.select(axis, full)),
                 piece(y, full * s.step, n - full * s.step));
}

}  // namespace

Convolution::Convolution(Array kernel, const Dims& batch_shape,
                         const std::optional<Dims>& in_grid_shape,
                         const std::optional<Dims>& out_grid_shape, Boundary padding,
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
  const i64 rank = kernel().ndim(), taps = kernel().size();
  const bool real = !is_complex(y.dtype), narrow = size_of(y.dtype) == 2;  // narrow: always direct
  const double batch = batch_of(y.shape(), rank);
  const double direct = static_cast<double>(y.layout.size()) * static_cast<double>(taps) *
                        (real ? 1 : 2) * (is_complex(kernel().dtype()) ? 2 : 1);
  const Shape padded = padded_grid(x.shape());
  const double whole = fft_products(batch, static_cast<double>(count_of(padded)), real);
  Sections cut;
  if (rank == 1 && taps <= x.shape().back())
    cut = best_sections(taps, x.shape().back(), batch, real);
  const bool by_sections = cut.count > 1 && cut.products < whole;
  const double by_fft = by_sections ? cut.products : whole;
  const bool use_fft = !narrow && direct > by_fft;
  r.note(cat("Convolution ", names.str(), ": ", use_fft ? "by FFT" : "direct",
             use_fft && by_sections ? cat(" in sections of ", cut.length) : std::string(),
             " (about ", static_cast<i64>(direct / 1e3), "k products directly, ",
             static_cast<i64>(by_fft / 1e3), "k by FFT)"));
  View in = x;
  if (x.dtype != y.dtype) record::copy(r, x, in = r.temporary(x.shape(), y.dtype, r.device(x)));
  if (!use_fft) return apply_direct(r, in, y);
  if (by_sections) return record_sections(r, spectra, flipped, padding_mode, cut, in, y);
  apply_fft(r, in, y, padded);
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

Convolution Convolution::from_state(Array kernel, const NamedShape& n, Boundary padding,
                                    ConvolutionNormal normal, bool flipped, bool wraps) {
  const i64 rank = kernel.ndim();
  const auto [batch, in] = cut_last(kind, n.ishape, rank);
  Convolution a(std::move(kernel), batch, in, cut_last(kind, n.oshape, rank).second, padding,
                normal);
  a.flipped = flipped;
  a.wraps = wraps;
  return a;
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
