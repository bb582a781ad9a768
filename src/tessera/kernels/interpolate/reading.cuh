// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interpolation on CUDA for kernels whose weights are polynomials (piecewise.hpp): a few lanes share
// a point, one for each tap along the last axis, so that a row of taps is one short stretch of
// memory. A lane makes one weight per axis; lanes show each other those of the other axes.
//   reading_kernel<c64, 2, 6, 4><<<blocks, reading_threads>>>(args);

#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/interpolate/points.cuh"

namespace tessera::cuda {

inline constexpr int reading_threads = 256, reading_rounds = 4;

template <int Width>
inline constexpr int lanes_of = Width <= 2   ? 2
                                : Width <= 4 ? 4
                                             : 8;

template <int Width>
inline constexpr int points_per_block = reading_rounds* reading_threads / lanes_of<Width>;

template <class R>
struct ReadingArgs {
  PointArgs<R> point;
  Loops batch;   // operands 0: grid, 1: points
  Loops points;  // operand 0: points
  int stride[3];
  i64 count;
  int blocks_per_group;
  const i64* order;
  const void* from;
  void* to;
};

#ifdef __CUDACC__

// Where a cell of a grid that repeats lies along its axis, in elements.
template <class R>
__device__ int cell_offset(const ReadingArgs<R>& args, int axis, int cell) {
  const int n = args.point.size[axis];
  return (cell < 0 ? cell + n : cell >= n ? cell - n : cell) * args.stride[axis];
}

template <class T, int Dims, int Width, int Group>
__global__ void __launch_bounds__(reading_threads)
    reading_kernel(const __grid_constant__ ReadingArgs<typename RealOf<T>::type> args) {
  using R = typename RealOf<T>::type;
  constexpr int lanes = lanes_of<Width>, first_axis = 3 - Dims;
  constexpr unsigned all = 0xffffffffu;
  __shared__ R coefficient[spread::max_degree + 1][lanes];
  for (int i = static_cast<int>(threadIdx.x); i < (spread::max_degree + 1) * lanes;
       i += reading_threads)
    coefficient[i / lanes][i % lanes] = args.point.coefficient[i / lanes][i % lanes];
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % lanes,
            team = static_cast<int>(threadIdx.x) / lanes;
  const int group = static_cast<int>(blockIdx.x) / args.blocks_per_group;
  const i64 first = static_cast<i64>(static_cast<int>(blockIdx.x) % args.blocks_per_group) *
                    points_per_block<Width>;
  const i64 first_batch = static_cast<i64>(group) * Group;
  const R edge = args.point.edge;
  const T* from[Group];
  i64 to[Group];
#pragma unroll
  for (int b = 0; b < Group; ++b) {  // batches that are not there: the first again, and not written
    i64 at[2];
    args.batch.offsets(first_batch + b < args.batch.count ? first_batch + b : first_batch, at);
    from[b] = static_cast<const T*>(args.from) + at[0];
    to[b] = at[1];
  }

#pragma unroll 1
  for (int round = 0; round < reading_rounds; ++round) {
    // Lanes without a point go along with the last one: those of a warp exchange weights together.
    const i64 next = first + round * (reading_threads / lanes) + team;
    const i64 point = next < args.count ? next : args.count - 1;
    int cell[3] = {0, 0, 0};
    bool on_grid[3] = {false, false, false};
    R w[3] = {R(1), R(1), R(1)}, t[3];
#pragma unroll
    for (int a = first_axis; a < 3; ++a) {
      const PointOnAxis at = args.point.on_axis(a, Dims, point);
      cell[a] = at.first;
      on_grid[a] = at.on_grid;
      t[a] = static_cast<R>(2 * at.fraction - 1);
      w[a] = coefficient[0][lane];
    }
    for (int d = 1; d <= args.point.degree; ++d) {
      const R c = coefficient[d][lane];
#pragma unroll
      for (int a = first_axis; a < 3; ++a) w[a] = w[a] * t[a] + c;
    }

    R re[Group] = {}, im[Group] = {};
    // Nothing is weighed by zero, which would make an infinite number NaN: a lane beyond the width
    // and planes that a point does not have are left out.
    const bool has_tap = lane < Width;
    const int tap = has_tap ? lane : 0;
    const int x = cell_offset(args, 2, cell[2] + tap),
              x_beyond = cell_offset(args, 2, cell[2] + Width);
    const bool has_beyond = on_grid[2] && lane == 0;
    const auto add_row = [&](int offset, R weight, bool counts) {
      const R here = weight * w[2];
      if (counts && has_tap)
#pragma unroll
        for (int b = 0; b < Group; ++b) {
          const T v = from[b][offset + x];
          re[b] += here * v.re;
          im[b] += here * v.im;
        }
      const R at_edge = weight * edge;
      if (counts && has_beyond)
#pragma unroll
        for (int b = 0; b < Group; ++b) {
          const T v = from[b][offset + x_beyond];
          re[b] += at_edge * v.re;
          im[b] += at_edge * v.im;
        }
    };
    if constexpr (Dims == 1) {
      add_row(0, R(1), true);
    } else {
      const int y = cell_offset(args, 1, cell[1] + tap);
      const auto add_plane = [&](int offset, R weight, bool counts) {
#pragma unroll
        for (int j = 0; j < Width; ++j)
          add_row(offset + __shfl_sync(all, y, j, lanes), weight * __shfl_sync(all, w[1], j, lanes),
                  counts);
        if (on_grid[1])
          add_row(offset + cell_offset(args, 1, cell[1] + Width), weight * edge, counts);
      };
      if constexpr (Dims == 2) {
        add_plane(0, R(1), true);
      } else {
        const int z = cell_offset(args, 0, cell[0] + tap);
#pragma unroll 1
        for (int i = 0; i < Width; ++i)
          add_plane(__shfl_sync(all, z, i, lanes), __shfl_sync(all, w[0], i, lanes), true);
        if (__any_sync(all, on_grid[0]))  // all lanes of a warp, for they exchange weights
          add_plane(cell_offset(args, 0, cell[0] + Width), edge, on_grid[0]);
      }
    }
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2)
#pragma unroll
      for (int b = 0; b < Group; ++b) {
        re[b] += __shfl_xor_sync(all, re[b], step);
        im[b] += __shfl_xor_sync(all, im[b], step);
      }
    if (next >= args.count) continue;
    i64 at[1];
    args.points.offsets(args.order[point], at);
#pragma unroll
    for (int b = 0; b < Group; ++b)
      if (lane == b % lanes && first_batch + b < args.batch.count)
        static_cast<T*>(args.to)[to[b] + at[0]] = T(re[b], im[b]);
  }
}

#endif

}  // namespace tessera::cuda
