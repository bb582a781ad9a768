// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution with a small kernel along the last dims: batch + grid -> batch + grid of the same
// size. y[n] = sum of kernel[k] x[n - k + c], c = size // 2; beyond the border x is zero or goes on
// from the other side. Direct sums or FFTs, whichever is estimated cheaper when a plan is made.
// Kernels of any rank; one kernel serves the whole batch. Strides are not offered here.
//   NamedLinop K = Convolution(kernel, dims("C"), dims("NxNy"), {}, Boundary::circular);

#include "tessera/linop/ops/transforms/fft_convolution.hpp"

namespace tessera {

// How A.N is computed. none: A, then its adjoint; conv: with the autocorrelation of the kernel;
// fft: with the squared transform of the kernel. The last two need a circular border.
enum class ConvolutionNormal : std::uint8_t { none, conv, fft };
constexpr ConvolutionNormal last_of(ConvolutionNormal) { return ConvolutionNormal::fft; }
constexpr Boundary last_of(Boundary) { return Boundary::circular; }

struct TESSERA_API Convolution {
  KernelSpectra spectra;  // of the kernel as given
  NamedShape names;
  Boundary padding_mode;
  ConvolutionNormal normal_mode;
  bool flipped = false;  // the adjoint
  bool wraps = false;    // a normal: its kernel may reach around the grid more than once

  static constexpr const char* kind = "Convolution";
  static constexpr bool keeps_sizes = true;
  explicit Convolution(Array kernel, const Dims& batch_shape = {NamedDimension::ellipses()},
                       const std::optional<Dims>& in_grid_shape = {},
                       const std::optional<Dims>& out_grid_shape = {},
                       Boundary padding_mode = Boundary::zeros,
                       ConvolutionNormal normal_mode = ConvolutionNormal::none);
  const Array& kernel() const { return spectra.kernel(); }
  NamedShape shape() const { return names; }
  auto state() const {
    return std::tuple(kernel(), names, padding_mode, normal_mode, flipped, wraps);
  }
  static Convolution from_state(Array kernel, const NamedShape& n, Boundary padding,
                                ConvolutionNormal normal, bool flipped, bool wraps);
  std::optional<Device> device() const { return kernel().device(); }
  Shape output_shape(const Shape& input) const;  // ShapeError where the kernel exceeds the grid
  DType output_dtype(DType t) const { return convolution_dtype(t, kernel().dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  Convolution adjoint() const;
  std::optional<NamedLinop> normal() const;
  Convolution renamed(const Renames& renames) const;
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    KernelSpectra::each_array(self.spectra, f);
  }

 private:
  void apply_direct(Recorder& r, const View& x, const View& y) const;
  void apply_fft(Recorder& r, const View& x, const View& y, const Shape& padded) const;
  Shape padded_grid(const Shape& input) const;
};

extern template struct NamedLinop::Model<Convolution>;

}  // namespace tessera
