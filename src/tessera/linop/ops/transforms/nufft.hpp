// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Fourier transform of an image at arbitrary frequencies:
//   y(k) = N^(-1/2) sum over n of x[n] exp(-2 pi i k (n - N//2) / N),   k in [-N/2, N/2] per axis,
// by apodisation, padding, a centred FFT and Kaiser-Bessel interpolation, to an accuracy that width
// and oversampling set; or, in sampling mode, by the nearest points of the padded grid. With
// `toeplitz`, normal operators are convolutions on a doubled grid, without the points.
//   NamedLinop A = NUFFT(locs, {64, 48}, dims("RK"), dims("NxNy"), {}, dims("C"));

#include "tessera/linop/core/linop.hpp"

namespace tessera {

enum class NufftMode : std::uint8_t { interpolate, sampling };
constexpr NufftMode last_of(NufftMode) { return NufftMode::sampling; }

struct NufftOptions {
  double oversamp = 1.25;
  double width = 4.0;  // of the kernel, in points of the padded grid, along every axis
  NufftMode mode = NufftMode::interpolate;
  bool do_prep_locs = true;                // false: locs count in points of the padded grid, from 0
  std::optional<Array> apodize_weights{};  // of the image's shape, in place of our own
  bool toeplitz = false;
  std::optional<DType> toeplitz_dtype{};  // of the stored kernel; none: double precision
  double toeplitz_oversamp = 2.0;
  bool chosen_by_cost = false;  // `toeplitz` was; explain() says why
  bool wrap = false;            // frequencies beyond N/2 are those N lower; without it refused
  auto state() const {
    return std::tuple(oversamp, width, mode, do_prep_locs, apodize_weights, toeplitz,
                      toeplitz_dtype, toeplitz_oversamp, chosen_by_cost, wrap);
  }
  static NufftOptions from_state(double oversamp, double width, NufftMode mode, bool prepares,
                                 std::optional<Array> weights, bool toeplitz,
                                 std::optional<DType> dtype, double toeplitz_oversamp,
                                 bool chosen_by_cost, bool wrap) {
    return {oversamp,          width,          mode, prepares, std::move(weights), toeplitz, dtype,
            toeplitz_oversamp, chosen_by_cost, wrap};
  }
};

struct TESSERA_API NUFFT {
  Array locs;  // as given: (points..., axes)
  Shape grid_size;
  NamedShape names;
  Dims inner_names;  // of the padded grid's frequencies
  NufftOptions options;
  NamedLinop map;  // the chain that does it

  static constexpr const char* kind = "NUFFT";
  // Default names: Nx, Ny, Nz for the image, K, K1, ... for the points, Kx, Ky, Kz within.
  // ArgumentError for locations that are not finite or out of range and options that cannot be;
  // ShapeError and DimError for sizes and names that do not fit.
  NUFFT(Array locs, Shape grid_size, const std::optional<Dims>& output_shape = {},
        const std::optional<Dims>& input_shape = {}, const std::optional<Dims>& input_kshape = {},
        const Dims& batch_shape = {NamedDimension::ellipses()}, NufftOptions options = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(locs, grid_size, names, inner_names, options); }
  static NUFFT from_state(Array locs, const Shape& grid_size, const NamedShape& n,
                          const Dims& inner_names, NufftOptions options);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return locs.device(); }
  DType output_dtype(DType t) const { return complex_of(t); }
  void apply(Recorder& r, const View& x, const View& y) const;
  void apply_adjoint(Recorder& r, const View& y, const View& x) const { map.H().record(r, y, x); }
  std::optional<NamedLinop> normal() const;
  // A.H inner A without the points, for a diagonal inner or a Dense that mixes batches at each
  // point; nullopt when that is not asked for.
  std::optional<NamedLinop> normal(const NamedLinop& inner) const;
  bool approximates_normal() const {
    return options.toeplitz && options.mode == NufftMode::interpolate;
  }
  bool normal_takes_matrices() const { return approximates_normal(); }
  bool normal_keeps(NamedDimension) const { return false; }
  NUFFT renamed(const Renames& r) const;
  NUFFT split(const Tile& tile) const;  // along dims of the points and batches
  // The same transform at other frequencies, of the shape that these have: sizes, names, options,
  // apodisation and FFT stay, points are sorted anew. On the device of this one.
  NUFFT with_locs(const Array& others) const;
  std::vector<NamedLinop> parts() const { return map.parts(); }
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.locs);
    if (self.options.apodize_weights) f(*self.options.apodize_weights);
  }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.map);
  }

  i64 axes() const { return grid_size.size(); }
  // oversamp times the image, rounded up; never narrower than the kernel.
  Shape padded() const;
  Dims batch_dims() const;
  Dims image_dims() const;
  Dims point_dims() const;
};

// What it is made of, for those who build their own.
namespace nufft {
// The grid times oversamp, rounded up, and at least `least` points along every axis.
TESSERA_API Shape padded_size(const Shape& grid, double oversamp, double least = 1);
TESSERA_API double kaiser_bessel_beta(double width, double oversamp);
// The relative error along one axis of a kernel with this width, 2 to 16, and oversampling, which
// is 1.25, 1.5 or 2: the root mean square over an image without structure, at the worst position
// between grid points.
TESSERA_API double kernel_error(int width, double oversamp);
// The oversampling and width of the least cost for so many points that keep the relative error of
// a transform of double precision below `tolerance`, which is from least_tolerance to below 1.
struct KernelChoice {
  double oversamp, width;
};
inline constexpr double least_tolerance = 1e-12;
TESSERA_API KernelChoice kernel_for(double tolerance, const Shape& grid, i64 points,
                                    std::string_view who = "NUFFT");
// What a normal operator takes, in nanoseconds of one thread: by gridding, and as a convolution on a
// grid that is doubled. A convolution is preferred where it takes at most half, so that making its
// kernel pays within some iterations.
struct NormalCost {
  double gridding, toeplitz;
  bool prefers_toeplitz() const { return toeplitz <= gridding / 2; }
};
// Of the kernels of a normal that was not asked for.
inline constexpr i64 most_kernel_numbers = i64{1} << 28;
TESSERA_API NormalCost normal_cost(const Shape& grid, i64 points, const KernelChoice& kernel);
// The kernel for a tolerance, and the cheaper way of normal operators.
TESSERA_API NufftOptions options_for(double tolerance, const Shape& grid, i64 points);
// NUFFT::with_locs, also of frames: a Stack, or one of others, with a NUFFT for each position along
// its dim; locations have an axis for each of these in front. ArgumentError for other operators.
TESSERA_API NamedLinop with_locs(const NamedLinop& a, const Array& locs);
// The power of two that brings the largest weight of a kernel down to between 1 and 2. Products of
// three wide kernels would leave the range of single precision without it.
TESSERA_API double kernel_scale(double width, double oversamp);
// Divides out what the kernel, times `scale` along each axis, does to the image: a factor for each
// axis, float64, whose product broadcasts to the grid's shape.
TESSERA_API std::vector<Array> apodization(const Shape& grid, const Shape& padded, double width,
                                           double oversamp, double scale = 1);
// Frequencies to positions in the padded grid, wrapped around; float64. Without `wrap` those beyond
// half the grid, and what rounding adds to it, are an ArgumentError; its text starts with `who`.
TESSERA_API Array prepared_locs(const Array& locs, const Shape& grid, const Shape& padded,
                                std::string_view who = "NUFFT", bool wrap = true);
// The spectrum, on a grid of shape `doubled`, of the convolution that A.H diag(weights) A is; the
// weights end with the points, axes before them stay. Real for real weights.
TESSERA_API Array toeplitz_kernel(const NUFFT& a, const Array& weights, const Shape& doubled);
}  // namespace nufft

extern template struct NamedLinop::Model<NUFFT>;

}  // namespace tessera
