// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gridding and interpolation on CUDA for the kernels of NUFFTs: whole widths, weights that are
// polynomials, complex numbers, grids larger than two kernels. Nothing for other ones.

#include <optional>

#include "tessera/kernels/interpolate/interpolate.hpp"

namespace tessera::cuda {

std::optional<Prepared> prepare_region_gridding(const InterpolateSpec& spec, Device device);
std::optional<Prepared> prepare_reading_c64(const InterpolateSpec& spec);
std::optional<Prepared> prepare_reading_c128(const InterpolateSpec& spec);

}  // namespace tessera::cuda
