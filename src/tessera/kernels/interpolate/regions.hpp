// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gridding and interpolation on CUDA for the kernels of NUFFTs: whole widths, weights that are
// polynomials, complex numbers, grids larger than two kernels. Nothing for other ones. Where points
// are many, pieces of the grid lie in shared memory (pieces.cuh); else see regions.cuh, reading.cuh.

#include <optional>

#include "tessera/kernels/interpolate/interpolate.hpp"

namespace tessera::cuda {

// Taps per cell of the grid from which on pieces are taken: to bring one into shared memory takes as
// long as to read some of its cells for points. To grid to it is worth it always in planes, and later
// in volumes, where regions share weights among batches: on an H200 regions were ahead with 4 to 16
// taps, pieces with 38 and 46. Interpolation by pieces was behind with 4 and ahead with 13 and more.
inline constexpr double least_taps_to_read_pieces = 8, least_taps_to_grid_volume = 24;

std::optional<Prepared> prepare_region_gridding(const InterpolateSpec& spec, Device device);
std::optional<Prepared> prepare_piece_gridding_c64(const InterpolateSpec& spec, Device device);
std::optional<Prepared> prepare_piece_gridding_c128(const InterpolateSpec& spec, Device device);
std::optional<Prepared> prepare_piece_reading_c64(const InterpolateSpec& spec, Device device);
std::optional<Prepared> prepare_piece_reading_c128(const InterpolateSpec& spec, Device device);
std::optional<Prepared> prepare_reading_c64(const InterpolateSpec& spec);
std::optional<Prepared> prepare_reading_c128(const InterpolateSpec& spec);

}  // namespace tessera::cuda
