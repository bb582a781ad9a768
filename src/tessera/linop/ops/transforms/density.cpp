// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/density.hpp"

#include <cmath>
#include <numbers>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"
#include "tessera/linop/ops/sampling/sampling.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera {
namespace {

constexpr const char* density_name = "density_compensation";

// Note [Pipe-Menon]
// Gridding and reading back adds to each point the weights of its neighbours, by the kernel
// convolved with itself, whose sum over points of weight w per area is (integral of the kernel)^2
// times the number of grid points per cell. Where the weights are right every point sees that
// number; the iteration divides by how much more it sees. The grid has two points per cell, and the
// first zero of the kernel's transform is at the spacing of the cells, so that a full grid of
// points is seen as a constant. A small grid is narrower than the kernel: that goes around it.
Array pipe_menon(const Array& locs, const Shape& grid, i64 iterations) {
  constexpr double width = 6;
  Shape fine;
  for (i64 n : grid) fine.push_back(2 * n);
  SpreadKernel kernel;
  kernel.width = {width};
  kernel.beta = std::numbers::pi * std::sqrt(width * width / 4 - 1);
  const double along = width * std::sinh(kernel.beta) / kernel.beta,
               seen = std::pow(along * along / 2, static_cast<double>(grid.size()));
  const GridPoints points = make_grid_points(locs, fine, kernel, density_name, {grid});
  Array w = ones({points.count()}, DType::f64, locs.device());
  for (i64 i = 0; i < iterations; ++i) {
    const Array sums = interpolate(interpolate_adjoint(w, points), points);
    w = ops::multiply(w, ops::divide(seen, sums));
  }
  return w.reshape(Shape(locs.shape().begin(), locs.shape().end() - 1));
}

Array shares_of_cells(const Array& locs, const Shape& grid) {
  const Array at = nufft::prepared_locs(locs.to(cpu), grid, grid, density_name);
  const Array cell = Array::empty(at.shape(), DType::i64, cpu);
  for (i64 i = 0; i < at.size(); ++i) {
    const i64 n = grid[i % grid.size()];
    cell.host<i64>()[i] = static_cast<i64>(std::nearbyint(at.host<double>()[i])) % n;
  }
  const NamedLinop pick = Sampling::from_stacked_idx(cell.to(locs.device()), grid, {}, {}, {});
  const Array one =
      ones(Shape(locs.shape().begin(), locs.shape().end() - 1), DType::f64, locs.device());
  return ops::divide(one, pick(pick.H()(one)));
}

}  // namespace

Array density_compensation(const Array& locs, const Shape& grid, const DensityOptions& o) {
  const i64 axes = grid.size();
  require<ShapeError>(axes >= 1 && axes <= 3 && count_of(grid) > 0, density_name,
                      ": a grid of shape ", grid,
                      "; expected one to three axes that are not empty");
  require<ShapeError>(locs.ndim() >= 1 && locs.shape(locs.ndim() - 1) == axes, density_name,
                      ": locations of shape ", locs.shape(), " for a grid of shape ", grid,
                      "; expected (..., ", axes, ")");
  require<DTypeError>(!is_complex(locs.dtype()) && locs.dtype() != DType::b1, density_name,
                      ": locations of ", name(locs.dtype()), "; expected real numbers");
  require<ArgumentError>(o.iterations >= 1, density_name, ": ", o.iterations,
                         " iterations; expected at least one");
  return o.method == DensityMethod::cells ? shares_of_cells(locs, grid)
                                          : pipe_menon(locs, grid, o.iterations);
}

}  // namespace tessera
