// SPDX-License-Identifier: Apache-2.0
#pragma once
// The orthogonal discrete wavelet transform of the last dims, periodic at the borders, axis by axis
// and level by level; coefficients stand where the samples stood, the coarsest approximation in the
// leading corner of the array. Unitary for every size: where a level meets an odd length, its last
// sample passes through to the approximation unchanged, and the even rest is transformed. For
// lengths that stay even the numbers are those of PyWavelets' mode "periodization".
//   NamedLinop W = Wavelet(dims("NxNy"), "db4", 3);   // (..., Nx, Ny) -> (..., Nx1, Ny1)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// The low-pass decomposition filter: haar, db1 ... db8, sym2 ... sym8, coif1 ... coif3.
// ArgumentError with the list of names for others.
TESSERA_API const std::vector<double>& wavelet_filter(std::string_view name);

struct TESSERA_API Wavelet {
  std::string wavelet;
  std::optional<i64> level;  // none: as many as keep the coarsest length at the taps less one
  i64 rank;                  // transformed dims
  NamedShape names;
  bool inverse = false;

  static constexpr const char* kind = "Wavelet";
  static constexpr bool keeps_sizes = true;
  // Default out_shape: the next unused names. DimError, ArgumentError.
  explicit Wavelet(const Dims& in_shape, std::string wavelet = "db4", std::optional<i64> level = {},
                   const Dims& batch_shape = {NamedDimension::ellipses()},
                   std::optional<Dims> out_shape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(wavelet, level, rank, names, inverse); }
  static Wavelet from_state(std::string wavelet, std::optional<i64> level, i64 rank,
                            const NamedShape& n, bool inverse);
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return is_inexact(t) ? t : DType::f64; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Wavelet adjoint() const;
  NamedLinop normal() const;  // the identity
  bool isometry() const { return true; }
  Wavelet renamed(const Renames& renames) const;
  std::string details() const;
  // Sizes of the grid that each level transforms, finest first.
  std::vector<Shape> level_sizes(const Shape& grid) const;
};

extern template struct NamedLinop::Model<Wavelet>;

}  // namespace tessera
