// SPDX-License-Identifier: Apache-2.0
// Gridding by regions: which specs it takes, and how a launch is cut; the kernel is in regions.cuh.
#include "tessera/kernels/interpolate/regions.cuh"

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/interpolate/regions.hpp"

namespace tessera::cuda {
namespace {

constexpr int shared_wanted = 72 << 10;  // bytes of a block: three of them on a multiprocessor

template <class T, int Dims, int Group>
struct Gridding {
  using R = typename RealOf<T>::type;
  RegionArgs<R> args;
  i64 bytes = 0;

  void cut(const SpreadTiles& tiles) {
    args.groups = static_cast<int>((args.batch.count + Group - 1) / Group);
    args.all_regions = 1;
    for (int a = 0; a < 3; ++a) {
      args.tile_length[a] = args.tile_count[a] = args.step[a] = args.regions[a] = 1;
      if (a < 3 - Dims) continue;
      const int n = args.point.size[a];
      args.tile_length[a] = static_cast<int>(tiles.length[a - 3 + Dims]);
      args.tile_count[a] = static_cast<int>(tiles.count[a - 3 + Dims]);
      // Where a grid repeats, a kernel must not reach both ends of a region.
      args.step[a] = std::min(RegionCut<Dims>::length(a), n - args.point.width);
      args.regions[a] = (n + args.step[a] - 1) / args.step[a];
      args.all_regions *= args.regions[a];
    }
    const i64 one = bytes_per_hit<R, Dims, Group>(args.point.width);
    args.hits = static_cast<int>(
        std::clamp<i64>((shared_wanted - 4 * region_threads) / one / 32 * 32, 32, region_threads));
    bytes = region_bytes<R, Dims, Group>(args.point.width, args.hits);
  }
};

template <class T, int Dims, int Group>
void run_gridding(const void* state, const Launch& launch) {
  const auto& g = *static_cast<const Gridding<T, Dims, Group>*>(state);
  auto args = g.args;
  args.from = launch.operand[0];
  args.point.locs = static_cast<const double*>(launch.operand[1]);
  args.order = static_cast<const i64*>(launch.operand[2]);
  args.starts = static_cast<const i64*>(launch.operand[3]);
  args.to = launch.operand[4];
  const unsigned blocks = static_cast<unsigned>(args.all_regions) * args.groups;
  gridding_regions_kernel<T, Dims, Group>
      <<<blocks, region_threads, g.bytes, stream_of(launch)>>>(args);
  check_launch("launching a gridding");
}

template <class T, int Dims, int Group>
Task gridding_task(const RegionArgs<typename RealOf<T>::type>& args, const SpreadTiles& tiles) {
  auto g = std::make_shared<Gridding<T, Dims, Group>>();
  g->args = args;
  g->cut(tiles);
  // The most that any of them takes: who prepares another one must not ask for less.
  check(cudaFuncSetAttribute(gridding_regions_kernel<T, Dims, Group>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, shared_wanted),
        "asking for shared memory for a gridding");
  return {&run_gridding<T, Dims, Group>, std::move(g)};
}

// Batches share the weights of a point, four at a time.
template <class T, int Dims>
Task grouped_task(const RegionArgs<typename RealOf<T>::type>& args, const SpreadTiles& tiles) {
  return args.batch.count == 1 ? gridding_task<T, Dims, 1>(args, tiles)
                               : gridding_task<T, Dims, 4>(args, tiles);
}

template <class T>
std::optional<Prepared> prepare(const InterpolateSpec& spec, const Shape& grid) {
  using R = typename RealOf<T>::type;
  const spread::PiecewiseKernel<R> kernel(spec.kernel);
  if (!kernel.exact) return std::nullopt;
  const Layout &g = spec.grid.layout, &p = spec.points.layout;
  const i64 b = spec.batch_axes;
  const Strides of_batch[] = {Strides(g.strides.begin(), g.strides.begin() + b),
                              Strides(p.strides.begin(), p.strides.begin() + b)},
                of_points[] = {Strides(p.strides.begin() + b, p.strides.end())};
  const MergedLoops batch = merge_loops(Shape(g.shape.begin(), g.shape.begin() + b), of_batch, -1),
                    points = merge_loops(Shape(p.shape.begin() + b, p.shape.end()), of_points, -1);
  constexpr i64 most = i64{1} << 31;
  if (batch.size.size() > loop_axes || points.size.size() > loop_axes || batch.count == 0 ||
      points.count == 0 || points.count >= most - 2 * region_threads ||
      count_of(grid) >= most / batch.count)
    return std::nullopt;
  RegionArgs<R> args{PointArgs<R>(spec.kernel, kernel, grid),
                     device_loops(batch, loop_axes),
                     device_loops(points, loop_axes),
                     {0, 0, 0},
                     {},
                     {},
                     {},
                     {},
                     0,
                     0,
                     0,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr};
  const i64 axes = grid.size();
  for (i64 a = 0; a < axes; ++a) args.stride[a + 3 - axes] = g.strides[b + a];
  const SpreadTiles tiles(grid, spec.kernel);
  Prepared prepared;
  prepared.flops = 4 * std::pow(kernel.width, axes) * static_cast<double>(p.size());
  prepared.task = axes == 1   ? grouped_task<T, 1>(args, tiles)
                  : axes == 2 ? grouped_task<T, 2>(args, tiles)
                              : grouped_task<T, 3>(args, tiles);
  return prepared;
}

}  // namespace

std::optional<Prepared> prepare_region_gridding(const InterpolateSpec& spec, Device device) {
  if (!is_complex(spec.grid.dtype) || !spread::is_piecewise(spec.kernel)) return std::nullopt;
  const Shape grid(spec.grid.layout.shape.begin() + spec.batch_axes, spec.grid.layout.shape.end());
  for (i64 n : grid)
    if (static_cast<double>(n) < 2 * spec.kernel.width[0]) return std::nullopt;
  const DeviceGuard guard(device.index);  // shared memory is asked for on each device
  return spec.grid.dtype == DType::c64 ? prepare<c64>(spec, grid) : prepare<c128>(spec, grid);
}

}  // namespace tessera::cuda
