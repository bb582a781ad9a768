// SPDX-License-Identifier: Apache-2.0
// Interpolation and gridding on CUDA with any kernel: a thread takes one point, in order of the
// tiles, and a group of batches, for which it makes the weights once. Gridding adds by atomics. The
// kernels of NUFFTs have faster ways, see regions.hpp.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/interpolate/regions.hpp"
#include "tessera/kernels/interpolate/taps.hpp"

namespace tessera {
namespace cuda {
namespace {

using spread::scaled;
using spread::SpreadShape;

constexpr int batch_group = 4, few_taps = 8;

template <class R>
struct SpreadArgs {
  SpreadShape<R> shape;
  Loops batch;   // operands 0: grid, 1: points
  Loops points;  // operand 0: points
  i64 stride[3];
  i64 count, groups;
  const double* locs;
  const i64* order;
  const void* from;
  void* to;
};

template <class R, int MaxTaps>
struct DeviceTaps {
  int count[3];
  R weight[3][MaxTaps];
  i64 offset[3][MaxTaps];

  __device__ void find(const SpreadArgs<R>& args, i64 point) {
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      const int at = a - 3 + args.shape.axes;
      const double loc = at >= 0 ? args.locs[point * args.shape.axes + at] : 0;
      count[a] = args.shape.axis(a, loc, weight[a], offset[a]);
      for (int k = 0; k < count[a]; ++k) offset[a][k] *= args.stride[a];
    }
  }
  // f(offset, weight) for every neighbour.
  template <class F>
  __device__ void for_each(const SpreadShape<R>& shape, F&& f) const {
    for (int i = 0; i < count[0]; ++i)
      for (int j = 0; j < count[1]; ++j) {
        const i64 row = offset[0][i] + offset[1][j];
        const R w = shape.euclidean ? weight[0][i] + weight[1][j] : weight[0][i] * weight[1][j];
        for (int k = 0; k < count[2]; ++k)
          f(row + offset[2][k], shape.euclidean ? shape.value(w + weight[2][k]) : w * weight[2][k]);
      }
  }
};

// Offsets of the batches of one group in grid and points; how many there are.
template <class R>
__device__ int group_offsets(const SpreadArgs<R>& args, i64 group, i64 (&grid)[batch_group],
                             i64 (&points)[batch_group]) {
  const i64 first = group * batch_group, left = args.batch.count - first;
  const int n = left < batch_group ? static_cast<int>(left) : batch_group;
#pragma unroll
  for (int b = 0; b < batch_group; ++b) {
    i64 at[2] = {0, 0};
    if (b < n) args.batch.offsets(first + b, at);
    grid[b] = at[0];
    points[b] = at[1];
  }
  return n;
}

template <class T, int MaxTaps>
__global__ void __launch_bounds__(block_threads)
    interpolate_kernel(const __grid_constant__ SpreadArgs<typename spread::RealOf<T>::type> args) {
  using R = typename spread::RealOf<T>::type;
  DeviceTaps<R, MaxTaps> taps;
  for (i64 p = thread_position(); p < args.count * args.groups; p += thread_count()) {
    const i64 point = p % args.count;
    i64 grid[batch_group], points[batch_group], to[1];
    const int n = group_offsets(args, p / args.count, grid, points);
    taps.find(args, point);
    T sum[batch_group] = {};
    const T* from = static_cast<const T*>(args.from);
    taps.for_each(args.shape, [&](i64 at, R w) {
#pragma unroll
      for (int b = 0; b < batch_group; ++b)
        if (b < n) sum[b] = sum[b] + scaled(from[grid[b] + at], w);
    });
    args.points.offsets(args.order[point], to);
#pragma unroll
    for (int b = 0; b < batch_group; ++b)
      if (b < n) static_cast<T*>(args.to)[points[b] + to[0]] = sum[b];
  }
}

template <class T>
__device__ void add_atomic(T* to, const T& v) {
  if constexpr (is_complex_v<T>) {
    atomicAdd(&to->re, v.re);
    atomicAdd(&to->im, v.im);
  } else {
    atomicAdd(to, v);
  }
}

template <class T, int MaxTaps>
__global__ void __launch_bounds__(block_threads)
    gridding_kernel(const __grid_constant__ SpreadArgs<typename spread::RealOf<T>::type> args) {
  using R = typename spread::RealOf<T>::type;
  DeviceTaps<R, MaxTaps> taps;
  for (i64 p = thread_position(); p < args.count * args.groups; p += thread_count()) {
    const i64 point = p % args.count;
    i64 grid[batch_group], points[batch_group], from[1];
    const int n = group_offsets(args, p / args.count, grid, points);
    taps.find(args, point);
    args.points.offsets(args.order[point], from);
    T value[batch_group] = {};
#pragma unroll
    for (int b = 0; b < batch_group; ++b)
      if (b < n) value[b] = static_cast<const T*>(args.from)[points[b] + from[0]];
    T* to = static_cast<T*>(args.to);
    taps.for_each(args.shape, [&](i64 at, R w) {
#pragma unroll
      for (int b = 0; b < batch_group; ++b)
        if (b < n) add_atomic(to + grid[b] + at, scaled(value[b], w));
    });
  }
}

template <class R>
struct SpreadState {
  SpreadArgs<R> args;
  bool gridding, complex, few;
};

template <class T, int MaxTaps, class R>
void start(const SpreadState<R>& s, const SpreadArgs<R>& args, cudaStream_t stream) {
  const unsigned blocks = blocks_for(args.count * args.groups, block_threads);
  if (s.gridding)
    gridding_kernel<T, MaxTaps><<<blocks, block_threads, 0, stream>>>(args);
  else
    interpolate_kernel<T, MaxTaps><<<blocks, block_threads, 0, stream>>>(args);
  check_launch("launching an interpolation");
}

template <class R>
void run_spread(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const SpreadState<R>*>(state);
  SpreadArgs<R> args = s.args;
  args.from = launch.operand[0];
  args.locs = static_cast<const double*>(launch.operand[1]);
  args.order = static_cast<const i64*>(launch.operand[2]);
  args.to = launch.operand[4];
  const cudaStream_t stream = stream_of(launch);
  if (s.complex)
    s.few ? start<Complex<R>, few_taps>(s, args, stream)
          : start<Complex<R>, spread::max_taps>(s, args, stream);
  else
    s.few ? start<R, few_taps>(s, args, stream) : start<R, spread::max_taps>(s, args, stream);
}

Loops axes_loops(const Shape& shape, std::span<const Strides> strides, std::string_view what) {
  const MergedLoops m = merge_loops(shape, strides, -1);
  require<NotAvailable>(m.size.size() <= loop_axes, "interpolate on cuda: more than ", loop_axes,
                        " ", what, " axes that cannot be merged in shape ", shape);
  return device_loops(m, loop_axes);
}

template <class R>
Prepared prepare_spread(const InterpolateSpec& spec) {
  const Layout &g = spec.grid.layout, &p = spec.points.layout;
  const i64 b = spec.batch_axes;
  const Shape grid(g.shape.begin() + b, g.shape.end()), batch(g.shape.begin(), g.shape.begin() + b);
  const Strides batch_strides[] = {Strides(g.strides.begin(), g.strides.begin() + b),
                                   Strides(p.strides.begin(), p.strides.begin() + b)};
  const Strides point_strides[] = {Strides(p.strides.begin() + b, p.strides.end())};
  auto s = std::make_shared<SpreadState<R>>(
      SpreadState<R>{{SpreadShape<R>(grid, spec.kernel),
                      axes_loops(batch, batch_strides, "batch"),
                      axes_loops(Shape(p.shape.begin() + b, p.shape.end()), point_strides, "point"),
                      {0, 0, 0},
                      0,
                      0,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr},
                     spec.gridding,
                     is_complex(spec.grid.dtype),
                     true});
  for (i64 a = 0; a < grid.size(); ++a) s->args.stride[a + 3 - grid.size()] = g.strides[b + a];
  s->args.count = s->args.points.count;
  s->args.groups = (s->args.batch.count + batch_group - 1) / batch_group;
  double taps = 1;
  for (double w : spec.kernel.width) {
    taps *= w;
    s->few = s->few && std::ceil(w + 1) <= few_taps;
  }
  if (s->args.count == 0 || s->args.groups == 0) return {{&run_nothing, nullptr}};
  Prepared prepared;
  prepared.flops = 4 * taps * static_cast<double>(p.size());
  prepared.task = {&run_spread<R>, std::move(s)};
  return prepared;
}

std::optional<Prepared> prepare_fast(const InterpolateSpec& spec, Device device) {
  const bool single = spec.grid.dtype == DType::c64;
  if (spec.gridding) {
    auto pieces = single ? prepare_piece_gridding_c64(spec, device)
                         : prepare_piece_gridding_c128(spec, device);
    return pieces ? pieces : prepare_region_gridding(spec, device);
  }
  auto pieces =
      single ? prepare_piece_reading_c64(spec, device) : prepare_piece_reading_c128(spec, device);
  if (pieces) return pieces;
  return single ? prepare_reading_c64(spec) : prepare_reading_c128(spec);
}

}  // namespace
}  // namespace cuda

Prepared prepare_interpolate_cuda(const InterpolateSpec& spec, Device device) {
  require<DTypeError>(spec.grid.dtype == spec.points.dtype && is_inexact(spec.grid.dtype) &&
                          spec.grid.dtype >= DType::f32,
                      "interpolate on cuda: a grid of ", name(spec.grid.dtype), " and points of ",
                      name(spec.points.dtype));
  if (is_complex(spec.grid.dtype))
    if (const auto fast = cuda::prepare_fast(spec, device)) return *fast;
  return real_of(spec.grid.dtype) == DType::f32 ? cuda::prepare_spread<float>(spec)
                                                : cuda::prepare_spread<double>(spec);
}

}  // namespace tessera
