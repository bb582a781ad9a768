// SPDX-License-Identifier: Apache-2.0
#pragma once
// Circular convolution by FFT: batch + grid -> batch + grid. The kernel's centre is its element
// n//2 along each axis, as in Convolution. Its transform is made once per grid size and precision
// and shared by the operator and its adjoint. The choice between this and direct sums
// is Convolution's.
//   NamedLinop K = FFTConvolution(kernel);   // (..., Nx, Ny) -> (..., Nx1, Ny1) for a 2-d kernel

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// Transforms of one kernel, kept by grid and dtype. Copies share what is kept.
class TESSERA_API KernelSpectra {
 public:
  explicit KernelSpectra(Array kernel);
  const Array& kernel() const { return kernel_; }
  // Of the kernel placed on `grid` with its centre at the origin, taps beyond it wrapped, divided
  // by the number of points. `dtype` complex64 or complex128; `half`: as a real transform gives it.
  Array spectrum(const Shape& grid, DType dtype, bool half) const;
  i64 kept() const;
  // The same for a kernel that was moved or copied: it keeps no transforms of the old one, and
  // those of its own together with others that were moved to the same memory, such as tiles.
  KernelSpectra moved(Array kernel) const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    if constexpr (std::is_const_v<Self>) {
      f(self.kernel_);
    } else {
      Array kernel = self.kernel_;
      f(kernel);
      self = self.moved(std::move(kernel));
    }
  }

 private:
  struct Cache;
  Array kernel_;
  std::shared_ptr<Cache> cache_;
};

enum class SpectrumUse : std::uint8_t { plain, conjugated, squared };
constexpr SpectrumUse last_of(SpectrumUse) { return SpectrumUse::squared; }
// y = x convolved circularly on the grid of x's last axes; x and y have one dtype, real (with a
// real kernel) or complex, float32 precision or better.
TESSERA_API void record_fft_convolution(Recorder& r, const KernelSpectra& spectra, SpectrumUse use,
                                        const View& x, const View& y);

// What both kinds of convolution check and name alike.
struct TESSERA_API ConvolutionNames {
  // Default grids: Nx, Ny, Nz and the next unused names. DimError names `who`.
  static NamedShape make(std::string_view who, const Array& kernel, const Dims& batch_shape,
                         const std::optional<Dims>& in_grid, const std::optional<Dims>& out_grid);
};
// A kernel as operators keep it: floats or complex; ShapeError for rank 0 and empty kernels.
TESSERA_API Array checked_kernel(std::string_view who, Array kernel);
// The dtype of results: integers count as float64.
TESSERA_API DType convolution_dtype(DType data, DType kernel);

struct TESSERA_API FFTConvolution {
  KernelSpectra spectra;
  NamedShape names;
  SpectrumUse use = SpectrumUse::plain;
  bool wraps = false;  // a normal: its kernel may be larger than the grid

  static constexpr const char* kind = "FFTConvolution";
  static constexpr bool keeps_sizes = true;
  explicit FFTConvolution(Array kernel, const Dims& batch_shape = {NamedDimension::ellipses()},
                          const std::optional<Dims>& in_grid_shape = {},
                          const std::optional<Dims>& out_grid_shape = {});
  FFTConvolution(KernelSpectra s, NamedShape n, SpectrumUse u, bool w)
      : spectra(std::move(s)), names(std::move(n)), use(u), wraps(w) {}
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(spectra.kernel(), names, use, wraps); }
  static FFTConvolution from_state(Array kernel, const NamedShape& n, SpectrumUse use, bool wraps);
  std::optional<Device> device() const { return spectra.kernel().device(); }
  Shape output_shape(const Shape& input) const;  // ShapeError where the kernel exceeds the grid
  DType output_dtype(DType t) const { return convolution_dtype(t, spectra.kernel().dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  FFTConvolution adjoint() const;
  std::optional<NamedLinop> normal() const;
  FFTConvolution renamed(const Renames& r) const { return {spectra, names.renamed(r), use, wraps}; }
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    KernelSpectra::each_array(self.spectra, f);
  }
};

extern template struct NamedLinop::Model<FFTConvolution>;

}  // namespace tessera
