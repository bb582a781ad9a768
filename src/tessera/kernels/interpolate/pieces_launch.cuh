// SPDX-License-Identifier: Apache-2.0
#pragma once
// What gridding and interpolation by pieces (pieces.cuh) share on the host: which specs they take,
// the instantiation for a width, and shared memory.
//   auto args = piece_args<float>(spec, 8);   if (args) return for_width(args->point.width, f);

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/interpolate/pieces.cuh"
#include "tessera/kernels/interpolate/regions.hpp"

namespace tessera::cuda {

inline constexpr int widest_piece = 8;

inline Shape grid_of(const InterpolateSpec& spec) {
  const Shape& shape = spec.grid.layout.shape;
  return {shape.begin() + spec.batch_axes, shape.end()};
}

// All but the cut, which depends on the width. Nothing for specs that other kernels take: those with
// fewer than `least_taps` taps per cell of the grid among them.
template <class R>
std::optional<PieceArgs<R>> piece_args(const InterpolateSpec& spec, double least_taps) {
  if (!spread::is_piecewise(spec.kernel) || spec.kernel.width[0] > widest_piece ||
      !spec.kernel.circular)
    return std::nullopt;
  const Layout &g = spec.grid.layout, &p = spec.points.layout;
  const i64 b = spec.batch_axes;
  const Shape grid = grid_of(spec);
  if (grid.size() == 1) return std::nullopt;
  for (i64 n : grid)
    if (static_cast<double>(n) < 2 * spec.kernel.width[0] || n >= i64{1} << 30) return std::nullopt;
  const spread::PiecewiseKernel<R> kernel(spec.kernel);
  const Strides of_batch[] = {Strides(g.strides.begin(), g.strides.begin() + b),
                              Strides(p.strides.begin(), p.strides.begin() + b)},
                of_points[] = {Strides(p.strides.begin() + b, p.strides.end())};
  const MergedLoops batch = merge_loops(Shape(g.shape.begin(), g.shape.begin() + b), of_batch, -1),
                    points = merge_loops(Shape(p.shape.begin() + b, p.shape.end()), of_points, -1);
  constexpr i64 most = i64{1} << 31;
  if (!kernel.exact || batch.size.size() > loop_axes || points.size.size() > loop_axes ||
      batch.count == 0 || points.count == 0 || points.count >= most - 1024 ||
      count_of(grid) >= most)
    return std::nullopt;
  const double taps = std::pow(kernel.width, grid.size()) * static_cast<double>(points.count);
  if (taps < least_taps * static_cast<double>(count_of(grid))) return std::nullopt;
  PieceArgs<R> args;
  args.point = PointArgs<R>(spec.kernel, kernel, grid);
  args.batch = device_loops(batch, loop_axes);
  args.points = device_loops(points, loop_axes);
  for (i64 a = 0; a < grid.size(); ++a) args.stride[a + 3 - grid.size()] = g.strides[b + a];
  return args;
}

// f.operator()<Width>() for the width at run time.
template <int Width = spread::least_piecewise, class F>
std::optional<Prepared> for_width(int width, const F& f) {
  if constexpr (Width > widest_piece)
    return std::nullopt;
  else
    return width == Width ? f.template operator()<Width>() : for_width<Width + 1>(width, f);
}

// Whether a block of a kernel may have so many bytes on the current device. It is granted all that
// there is, so that nobody who prepares another launch asks for less.
template <class Kernel>
bool grant_shared_memory(Kernel* kernel, i64 bytes) {
  int device = 0, most = 0;
  cudaFuncAttributes own;
  check(cudaGetDevice(&device), "asking for the current device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for the shared memory of a block");
  check(cudaFuncGetAttributes(&own, kernel), "asking for the shared memory of a kernel");
  most -= static_cast<int>(own.sharedSizeBytes);
  if (bytes > most) return false;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "asking for shared memory");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared),
        "asking for shared memory");
  return true;
}

}  // namespace tessera::cuda
