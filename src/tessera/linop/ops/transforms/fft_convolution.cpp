// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/fft_convolution.hpp"

#include <mutex>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {

struct KernelSpectra::Cache {
  struct Entry {
    Shape grid;
    DType dtype;
    bool half;
    Array spectrum;
  };
  // One that was moved, and where to: the memory is there as long as the cache is.
  struct Moved {
    std::weak_ptr<Cache> cache;
    const void* data;
    Layout layout;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
  std::vector<Moved> moved;
};

KernelSpectra::KernelSpectra(Array kernel)
    : kernel_(std::move(kernel)), cache_(std::make_shared<Cache>()) {}

KernelSpectra KernelSpectra::moved(Array kernel) const {
  KernelSpectra there(std::move(kernel));
  std::lock_guard lock(cache_->mutex);
  std::erase_if(cache_->moved, [](const Cache::Moved& m) { return m.cache.expired(); });
  for (const Cache::Moved& m : cache_->moved)
    if (m.data == there.kernel_.storage().data() && m.layout == there.kernel_.layout())
      if (auto known = m.cache.lock()) {
        there.cache_ = std::move(known);
        return there;
      }
  cache_->moved.push_back({there.cache_, there.kernel_.storage().data(), there.kernel_.layout()});
  return there;
}

i64 KernelSpectra::kept() const {
  std::lock_guard lock(cache_->mutex);
  return static_cast<i64>(cache_->entries.size());
}

namespace {

// The kernel on the grid: tap k at (k - centre) modulo the grid, in double precision on the cpu.
Array placed(const Array& kernel, const Shape& grid) {
  const DType wide = is_complex(kernel.dtype()) ? DType::c128 : DType::f64;
  const Array k = kernel.to(cpu).astype(DType::c128).contiguous();
  const Array out = zeros(grid, DType::c128);
  const Array dense = out.contiguous();
  const c128* from = k.host<c128>();
  c128* to = dense.host<c128>();
  for (i64 i = 0; i < k.size(); ++i) {
    i64 rest = i, at = 0, scale = 1;
    for (i64 a = grid.size() - 1; a >= 0; --a) {
      const i64 n = k.shape(a), place = (rest % n - n / 2) % grid[a];
      rest /= n;
      at += (place < 0 ? place + grid[a] : place) * scale;
      scale *= grid[a];
    }
    to[at] += from[i];
  }
  return is_complex(wide) ? dense : dense.real().contiguous();
}

Shape last_axes(i64 ndim, i64 count) {
  Shape axes;
  for (i64 a = ndim - count; a < ndim; ++a) axes.push_back(a);
  return axes;
}

Array host_spectrum(const Array& kernel, const Shape& grid, bool half) {
  const Shape axes = last_axes(grid.size(), grid.size());
  const Array on_grid = placed(kernel, grid);
  return half ? rfftn(on_grid, axes, Norm::forward) : fftn(on_grid, axes, Norm::forward);
}

// |spectrum|^2 for the one plan that asks: not kept, and formed on the host.
Array power_spectrum(const Array& kernel, const Shape& grid, DType dtype, bool half) {
  // The spectrum holds 1/points once; the product of two would hold it twice.
  const double points = static_cast<double>(count_of(grid));
  const Array squares = ops::multiply(ops::abs2(host_spectrum(kernel, grid, half)), points);
  return squares.astype(real_of(dtype)).to(kernel.device());
}

Dims next_names(const Dims& names, const Dims& taken) {
  Dims avoid = taken, next;
  for (NamedDimension d : names) avoid.push_back(d);
  for (NamedDimension d : names) {
    next.push_back(d.next_unused(avoid));
    avoid.push_back(next.back());
  }
  return next;
}

}  // namespace

Array KernelSpectra::spectrum(const Shape& grid, DType dtype, bool half) const {
  std::lock_guard lock(cache_->mutex);
  for (const Cache::Entry& e : cache_->entries)
    if (e.grid == grid && e.dtype == dtype && e.half == half) return e.spectrum;
  const Array s = host_spectrum(kernel_, grid, half).astype(dtype).to(kernel_.device());
  cache_->entries.push_back({grid, dtype, half, s});
  return s;
}

void record_fft_convolution(Recorder& r, const KernelSpectra& spectra, SpectrumUse use,
                            const View& x, const View& y) {
  const i64 rank = spectra.kernel().ndim(), ndim = x.layout.ndim();
  const bool half = !is_complex(x.dtype);
  const Shape axes = last_axes(ndim, rank), grid(x.shape().end() - rank, x.shape().end());
  const DType work = complex_of(x.dtype);
  const Device where = r.device(x);
  Shape shape = x.shape();
  if (half) shape.back() = shape.back() / 2 + 1;
  const View spread = r.temporary(shape, work, where), product = r.temporary(shape, work, where);
  const auto transform = [&](const View& from, const View& to, int sign) {
    const FftKind real = sign < 0 ? FftKind::real_to_complex : FftKind::complex_to_real;
    const FftSpec spec{.kind = half ? real : FftKind::complex,
                       .in = operand_of(from),
                       .out = operand_of(to),
                       .axes = axes,
                       .sign = sign};
    const View reads[] = {from};
    r.launch(&KernelTable::fft, "fft", spec, reads, to);
  };
  transform(x, spread, -1);
  if (use == SpectrumUse::squared)
    record::multiply(r, r.constant(power_spectrum(spectra.kernel(), grid, work, half)), spread,
                     product);
  else if (use == SpectrumUse::conjugated)
    record::conj_multiply(r, r.constant(spectra.spectrum(grid, work, half)), spread, product);
  else
    record::multiply(r, r.constant(spectra.spectrum(grid, work, half)), spread, product);
  transform(product, y, 1);
}

NamedShape ConvolutionNames::make(std::string_view who, const Array& kernel,
                                  const Dims& batch_shape, const std::optional<Dims>& in_grid,
                                  const std::optional<Dims>& out_grid) {
  const i64 rank = kernel.ndim();
  require<DimError>(in_grid || rank <= 3, who, ": a kernel of ", rank,
                    " axes has no default names; give in_grid_shape");
  const Dims in = in_grid ? *in_grid : nd_shape(rank);
  const Dims out = out_grid ? *out_grid : next_names(in, batch_shape);
  for (const Dims* side : {&in, &out})
    require<DimError>(side->size() == rank && !has_ellipses(*side), who, ": a kernel of shape ",
                      kernel.shape(), " needs ", rank, " names for its grid, got ", to_text(*side));
  check_names(who, {&batch_shape, &in, &out});
  return NamedShape(batch_shape) + NamedShape(in, out);
}

Array checked_kernel(std::string_view who, Array kernel) {
  require<ShapeError>(kernel.ndim() >= 1 && kernel.size() > 0, who, ": a kernel of shape ",
                      kernel.shape(), "; expected at least one axis and one element");
  return is_inexact(kernel.dtype()) ? kernel : kernel.astype(DType::f64);
}

DType convolution_dtype(DType data, DType kernel) {
  return promote(is_inexact(data) ? data : DType::f64, kernel);
}

FFTConvolution::FFTConvolution(Array kernel, const Dims& batch_shape,
                               const std::optional<Dims>& in_grid_shape,
                               const std::optional<Dims>& out_grid_shape)
    : spectra(checked_kernel(kind, std::move(kernel))),
      names(ConvolutionNames::make(kind, spectra.kernel(), batch_shape, in_grid_shape,
                                   out_grid_shape)) {}

FFTConvolution FFTConvolution::from_state(Array kernel, const NamedShape& n, SpectrumUse use,
                                          bool wraps) {
  const i64 rank = kernel.ndim();
  const auto [batch, in] = cut_last(kind, n.ishape, rank);
  FFTConvolution a(std::move(kernel), batch, in, cut_last(kind, n.oshape, rank).second);
  a.use = use;
  a.wraps = wraps;
  return a;
}

Shape FFTConvolution::output_shape(const Shape& input) const {
  const Array& k = spectra.kernel();
  const i64 first = input.size() - k.ndim();
  require<DimError>(first >= 0, "FFTConvolution ", names.str(), ": convolves ", k.ndim(),
                    " axes, got an array of shape ", input);
  for (i64 a = 0; a < k.ndim(); ++a)
    require<ShapeError>(input[first + a] > 0 && (wraps || k.shape(a) <= input[first + a]),
                        "FFTConvolution ", names.str(), ": the kernel of shape ", k.shape(),
                        " is larger than the grid of an array of shape ", input, " along dim '",
                        names.ishape[names.ishape.size() - k.ndim() + a], "'");
  return input;
}

void FFTConvolution::apply(Recorder& r, const View& x, const View& y) const {
  // Half precision transforms in float32.
  const DType work = size_of(y.dtype) == 2 ? DType::f32 : y.dtype;
  View in = x, out = y;
  if (x.dtype != work) record::copy(r, x, in = r.temporary(x.shape(), work, r.device(x)));
  if (y.dtype != work) out = r.temporary(y.shape(), work, r.device(y));
  record_fft_convolution(r, spectra, use, in, out);
  if (y.dtype != work) record::copy(r, out, y);
}

FFTConvolution FFTConvolution::adjoint() const {
  const SpectrumUse flipped = use == SpectrumUse::plain        ? SpectrumUse::conjugated
                              : use == SpectrumUse::conjugated ? SpectrumUse::plain
                                                               : SpectrumUse::squared;
  return {spectra, names.H(), flipped, wraps};
}

std::optional<NamedLinop> FFTConvolution::normal() const {
  if (use == SpectrumUse::squared) return std::nullopt;
  return FFTConvolution(spectra, names.N(), SpectrumUse::squared, wraps);
}

std::string FFTConvolution::details() const {
  constexpr const char* uses[] = {"", " adjoint", " squared"};
  return cat("kernel ", spectra.kernel().shape(), " ", spectra.kernel().dtype(),
             uses[static_cast<int>(use)]);
}

}  // namespace tessera
