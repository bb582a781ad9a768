// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of sampled frequencies by which a sum over the points becomes an integral: the area that
// each point stands for, in cells of the grid, so that all are 1 where the points are the grid's
// own frequencies and NUFFT.H(weights * NUFFT(x)) is near x where the frequencies are covered.
//   Array w = density_compensation(locs, {64, 64});

#include "tessera/array/array.hpp"

namespace tessera {

// pipe_menon: w <- w / (w convolved with a kernel), again and again, until the points have the same
// weight everywhere; the kernel is as wide as the image is bounded, so points further apart than a
// cell stand for about a cell each. cells: one, divided by the number of points in the same cell.
enum class DensityMethod : std::uint8_t { pipe_menon, cells };
constexpr DensityMethod last_of(DensityMethod) { return DensityMethod::cells; }

struct DensityOptions {
  DensityMethod method = DensityMethod::pipe_menon;
  i64 iterations = 30;  // of pipe_menon
};

// float64, of the shape of the points, on their device. locs: (points..., axes), as those of NUFFT.
// ShapeError, DTypeError and ArgumentError for locations and sizes that NUFFT refuses as well.
TESSERA_API Array density_compensation(const Array& locs, const Shape& grid_size,
                                       const DensityOptions& options = {});

}  // namespace tessera
