// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Fourier sum from points anywhere to frequencies anywhere, a NUFFT of type 3:
//   y(k) = sum over j of c(j) exp(sign i s_k . x_j),   one to three axes, radians, not normalised.
// Points are spread onto a grid as fine as the frequencies ask for and as long as the points reach,
// which a NUFFT then transforms at the frequencies. The operator is a chain of a Diagonal, the
// adjoint of an Interpolate, a NUFFT and a Diagonal, so that its adjoint, its normal and its tiles
// are theirs. Its cost grows with the product of how far points and frequencies reach.
//   NamedLinop A = nufft_type3(points, frequencies, {.tol = 1e-9});   // (..., J) -> (..., K)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct NufftType3Options {
  double tol = 1e-6;  // the relative error against the sum, as that of NUFFT
  int sign = -1;
  std::optional<Dims> output_shape{}, input_shape{};  // none: K, K1, ... and J, J1, ...
  Dims batch_shape{NamedDimension::ellipses()};
};

// points (..., axes), frequencies (..., axes), real. On the device of the points. ShapeError,
// DTypeError, DimError and ArgumentError for what does not fit, is not real or not finite, a
// tolerance out of reach, and points and frequencies that reach too far for any grid.
TESSERA_API NamedLinop nufft_type3(const Array& points, const Array& frequencies,
                                   const NufftType3Options& options = {});

namespace nufft {
inline constexpr double least_type3_tolerance = 1e-11;
}

}  // namespace tessera
