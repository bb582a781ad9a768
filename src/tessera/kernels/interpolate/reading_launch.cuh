// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which specs the kernel of reading.cuh takes, and how a launch is cut; instantiated for each dtype
// in a file of its own, which keeps compilation short.
//   return prepare_reading<c64>(spec);

#include "tessera/kernels/interpolate/reading.cuh"

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/interpolate/regions.hpp"

namespace tessera::cuda {

inline constexpr int most_read = 8;  // the widest kernel

template <class R>
struct Reading {
  ReadingArgs<R> args;
  unsigned blocks = 0;
};

template <class T, int Dims, int Width, int Group>
void run_reading(const void* state, const Launch& launch) {
  const auto& r = *static_cast<const Reading<typename RealOf<T>::type>*>(state);
  auto args = r.args;
  args.from = launch.operand[0];
  args.point.locs = static_cast<const double*>(launch.operand[1]);
  args.order = static_cast<const i64*>(launch.operand[2]);
  args.to = launch.operand[4];
  reading_kernel<T, Dims, Width, Group><<<r.blocks, reading_threads, 0, stream_of(launch)>>>(args);
  check_launch("launching an interpolation");
}

template <class T, int Dims, int Width, int Group>
std::optional<Task> reading_task(ReadingArgs<typename RealOf<T>::type> args) {
  const i64 groups = (args.batch.count + Group - 1) / Group,
            per_group = (args.count + points_per_block<Width> - 1) / points_per_block<Width>;
  if (groups >= (i64{1} << 31) / per_group) return std::nullopt;
  args.blocks_per_group = static_cast<int>(per_group);
  auto r = std::make_shared<Reading<typename RealOf<T>::type>>();
  r->args = args;
  r->blocks = static_cast<unsigned>(per_group * groups);
  return Task{&run_reading<T, Dims, Width, Group>, std::move(r)};
}

template <class T, int Dims, int Width = spread::least_piecewise>
std::optional<Task> reading_task_of(const ReadingArgs<typename RealOf<T>::type>& args) {
  if constexpr (Width > most_read) {
    return std::nullopt;
  } else {
    if (args.point.width != Width) return reading_task_of<T, Dims, Width + 1>(args);
    return args.batch.count == 1 ? reading_task<T, Dims, Width, 1>(args)
                                 : reading_task<T, Dims, Width, 4>(args);
  }
}

template <class T>
std::optional<Prepared> prepare_reading(const InterpolateSpec& spec) {
  using R = typename RealOf<T>::type;
  const Layout &g = spec.grid.layout, &p = spec.points.layout;
  const i64 b = spec.batch_axes, axes = g.ndim() - b;
  if (!spread::is_piecewise(spec.kernel) || spec.kernel.width[0] > most_read ||
      !spec.kernel.circular)
    return std::nullopt;
  const Shape grid(g.shape.begin() + b, g.shape.end());
  constexpr i64 most = i64{1} << 31;
  i64 extent = 0;  // of one batch, in elements: offsets have 32 bits
  for (i64 a = 0; a < axes; ++a) {
    if (static_cast<double>(grid[a]) < 2 * spec.kernel.width[0]) return std::nullopt;
    if (grid[a] >= most || g.strides[b + a] >= most || g.strides[b + a] <= -most)
      return std::nullopt;
    extent += grid[a] * std::abs(g.strides[b + a]);
    if (extent >= most) return std::nullopt;
  }
  const spread::PiecewiseKernel<R> kernel(spec.kernel);
  const Strides of_batch[] = {Strides(g.strides.begin(), g.strides.begin() + b),
                              Strides(p.strides.begin(), p.strides.begin() + b)},
                of_points[] = {Strides(p.strides.begin() + b, p.strides.end())};
  const MergedLoops batch = merge_loops(Shape(g.shape.begin(), g.shape.begin() + b), of_batch, -1),
                    points = merge_loops(Shape(p.shape.begin() + b, p.shape.end()), of_points, -1);
  if (!kernel.exact || batch.size.size() > loop_axes || points.size.size() > loop_axes ||
      batch.count == 0 || points.count == 0)
    return std::nullopt;
  ReadingArgs<R> args{PointArgs<R>(spec.kernel, kernel, grid),
                      device_loops(batch, loop_axes),
                      device_loops(points, loop_axes),
                      {0, 0, 0},
                      points.count,
                      0,
                      nullptr,
                      nullptr,
                      nullptr};
  for (i64 a = 0; a < axes; ++a) args.stride[a + 3 - axes] = static_cast<int>(g.strides[b + a]);
  std::optional<Task> task = axes == 1   ? reading_task_of<T, 1>(args)
                             : axes == 2 ? reading_task_of<T, 2>(args)
                                         : reading_task_of<T, 3>(args);
  if (!task) return std::nullopt;
  Prepared prepared;
  prepared.flops = 4 * std::pow(kernel.width, axes) * static_cast<double>(p.size());
  prepared.task = std::move(*task);
  return prepared;
}

}  // namespace tessera::cuda
