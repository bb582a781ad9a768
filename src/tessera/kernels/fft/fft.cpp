// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/fft.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

void check_points(i64 n) {
  require<ArgumentError>(n >= 1, "Invalid number of FFT data points (", n, ") specified.");
}

Shape normalized(const Shape& axes, i64 ndim, std::string_view who) {
  Shape r;
  for (i64 a : axes) r.push_back(normalize_axis(a, ndim, who));
  return r;
}

bool repeats(const Shape& axes) {
  for (i64 i = 0; i < axes.size(); ++i)
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i) return true;
  return false;
}

// What is known of a transform before it runs: axes, sizes of the real or complex input along
// them, and whether the array at hand is ours to overwrite.
struct Work {
  Array x;
  Shape axes;
  Shape sizes;  // points per axis
  bool fresh = false;
};

// `s` as NumPy's: one size per axis, -1 keeps the axis.
Shape wanted_sizes(const Array& x, const Shape& axes, const std::optional<Shape>& n) {
  require<ArgumentError>(!n || n->size() == axes.size(),
                         "Shape and axes have different lengths: ", n ? n->size() : 0,
                         " sizes for ", axes.size(), " axes");
  Shape sizes;
  for (i64 i = 0; i < axes.size(); ++i)
    sizes.push_back(n && (*n)[i] != -1 ? (*n)[i] : x.shape(axes[i]));
  return sizes;
}

// Cut or padded with zeros at the end of each axis.
void resize(Work& w, const Shape& sizes) {
  Array cut = w.x;
  Shape full = w.x.shape();
  for (i64 i = 0; i < w.axes.size(); ++i) {
    full[w.axes[i]] = sizes[i];
    if (sizes[i] < cut.shape(w.axes[i])) cut = cut.slice(w.axes[i], 0, sizes[i]);
  }
  if (cut.shape() != full) {
    Array padded = zeros(full, w.x.dtype(), w.x.device());
    Array part = padded;
    for (i64 a : w.axes) part = part.slice(a, 0, cut.shape(a));
    part.copy_from(cut);
    cut = padded;
    w.fresh = true;
  }
  w.x = cut;
}

void convert(Work& w, DType dtype) {
  if (w.x.dtype() == dtype) return;
  w.x = w.x.astype(dtype);
  w.fresh = true;
}

Array launch(FftKind kind, const Work& w, const Shape& out_shape, DType out_dtype, int sign,
             double scale) {
  FftSpec spec;
  spec.kind = kind;
  spec.axes = w.axes;
  spec.sign = sign;
  spec.scale = scale;
  spec.in = operand_of(w.x);
  spec.in_place = kind == FftKind::complex && w.fresh && !w.x.layout().self_overlaps();
  const Array out = spec.in_place ? w.x : Array::empty(out_shape, out_dtype, w.x.device());
  spec.out = operand_of(out);
  if (out.size() > 0) launch_now(&KernelTable::fft, "fft", spec, w.x.device(), {&w.x, &out});
  return out;
}

double scale_of(Norm norm, int sign, const Shape& sizes) {
  return fft_scale(norm, sign, count_of(sizes));
}

Array complex_transform(std::string_view who, const Array& x, const Shape& given, Norm norm,
                        const std::optional<Shape>& n, int sign) {
  Work w{x, normalized(given, x.ndim(), who), {}, false};
  w.sizes = wanted_sizes(x, w.axes, n);
  for (i64 size : w.sizes) check_points(size);
  if (w.axes.empty()) {
    convert(w, complex_of(x.dtype()));
    return w.fresh ? w.x : w.x.copy();
  }
  if (repeats(w.axes)) {  // an axis named twice is transformed twice, the last one first
    Array y = x;
    for (i64 i = w.axes.size() - 1; i >= 0; --i)
      y = complex_transform(who, y, {w.axes[i]}, norm,
                            n ? std::optional<Shape>(Shape{(*n)[i]}) : std::nullopt, sign);
    return y;
  }
  resize(w, w.sizes);
  convert(w, complex_of(x.dtype()));
  return launch(FftKind::complex, w, w.x.shape(), w.x.dtype(), sign, scale_of(norm, sign, w.sizes));
}

DType real_input(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16 ? DType::f32 : DType::f64;
}

}  // namespace

double fft_scale(Norm norm, int sign, i64 points) {
  const double n = static_cast<double>(points);
  if (norm == Norm::ortho) return 1.0 / std::sqrt(n);
  return (norm == Norm::forward) == (sign < 0) ? 1.0 / n : 1.0;
}

Array fftn(const Array& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  return complex_transform("fftn", x, axes, norm, n, -1);
}

Array ifftn(const Array& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  return complex_transform("ifftn", x, axes, norm, n, +1);
}

Array rfftn(const Array& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  require<DTypeError>(!is_complex(x.dtype()), "rfftn: the input is ", name(x.dtype()),
                      "; it takes real arrays, fftn takes complex ones");
  Work w{x, normalized(axes, x.ndim(), "rfftn"), {}, false};
  require<ArgumentError>(!w.axes.empty(), "rfftn: at least 1 axis must be transformed");
  w.sizes = wanted_sizes(x, w.axes, n);
  for (i64 size : w.sizes) check_points(size);
  if (repeats(w.axes)) {
    const i64 last = w.axes.size() - 1;
    const Array y = rfftn(x, {w.axes[last]}, norm, Shape{w.sizes[last]});
    const Shape rest(w.axes.begin(), w.axes.end() - 1);
    return fftn(y, rest, norm, n ? std::optional(Shape(n->begin(), n->end() - 1)) : std::nullopt);
  }
  resize(w, w.sizes);
  convert(w, real_input(x.dtype()));
  Shape out = w.x.shape();
  out[w.axes.back()] = w.sizes.back() / 2 + 1;
  return launch(FftKind::real_to_complex, w, out, complex_of(w.x.dtype()), -1,
                scale_of(norm, -1, w.sizes));
}

Array irfftn(const Array& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  Work w{x, normalized(axes, x.ndim(), "irfftn"), {}, false};
  require<ArgumentError>(!w.axes.empty(), "irfftn: at least 1 axis must be transformed");
  w.sizes = wanted_sizes(x, w.axes, n);
  if (!n || n->back() == -1) w.sizes.back() = 2 * (x.shape(w.axes.back()) - 1);
  for (i64 size : w.sizes) check_points(size);
  if (repeats(w.axes)) {
    const i64 last = w.axes.size() - 1;
    const Shape rest(w.axes.begin(), w.axes.end() - 1);
    const Array y =
        ifftn(x, rest, norm, n ? std::optional(Shape(n->begin(), n->end() - 1)) : std::nullopt);
    return irfftn(y, {w.axes[last]}, norm, n ? std::optional(Shape{n->back()}) : std::nullopt);
  }
  Shape half = w.sizes;
  half.back() = w.sizes.back() / 2 + 1;
  resize(w, half);
  convert(w, complex_of(x.dtype()));
  Shape out = w.x.shape();
  out[w.axes.back()] = w.sizes.back();
  return launch(FftKind::complex_to_real, w, out, real_of(w.x.dtype()), +1,
                scale_of(norm, +1, w.sizes));
}

Array fftshift(const Array& x, const Shape& axes, bool inverse) {
  const Shape all = normalized(axes, x.ndim(), "fftshift");
  Shape shifts;
  for (i64 a : all) shifts.push_back(inverse ? -(x.shape(a) / 2) : x.shape(a) / 2);
  return all.empty() ? x.copy() : roll(x, shifts, all);
}

}  // namespace tessera
