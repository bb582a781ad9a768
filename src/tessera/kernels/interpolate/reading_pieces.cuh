// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interpolation on CUDA where points are many: a block brings one piece (pieces.cuh) into shared
// memory, with what reaches beyond it, and reads its points there. A few lanes share a point, or a
// thread takes it alone.
//   reading_pieces_kernel<c64, 3, 6, 2><<<pieces * batches, piece_reading_threads, bytes>>>(args);

#include "tessera/kernels/interpolate/pieces.cuh"

namespace tessera::cuda {

inline constexpr int piece_reading_threads = 256;

#ifdef __CUDACC__

// The weights along each axis that one of the lanes of a point has made: of taps lane,
// lane + Lanes, ...
template <class R, int Dims, int Width, int Lanes>
struct LaneWeights {
  static constexpr int each = (Width + Lanes - 1) / Lanes, first_axis = 3 - Dims;
  R w[3][each];

  template <class Coefficient>
  __device__ void find(const R (&t)[3], int degree, const Coefficient& coefficient) {
#pragma unroll
    for (int m = 0; m < each; ++m)
#pragma unroll
      for (int a = first_axis; a < 3; ++a) w[a][m] = coefficient(0, m);
    for (int d = 1; d <= degree; ++d)
#pragma unroll
      for (int m = 0; m < each; ++m) {
        const R c = coefficient(d, m);
#pragma unroll
        for (int a = first_axis; a < 3; ++a) w[a][m] = w[a][m] * t[a] + c;
      }
  }
  // Of tap k, which all lanes ask for at the same time; k < Width.
  __device__ R of(int axis, int k) const {
    if constexpr (Lanes == 1) {
      return w[axis][k];
    } else {
      return __shfl_sync(0xffffffffu, w[axis][k / Lanes], k % Lanes, Lanes);
    }
  }
};

// Bounds of twice the threads: nvcc takes fewer registers then, and as many blocks share a
// multiprocessor as pieces leave room for (four in volumes with kernels of 6).
template <class T, int Dims, int Width, int Lanes>
__global__ void __launch_bounds__(2 * piece_reading_threads)
    reading_pieces_kernel(const __grid_constant__ PieceArgs<typename RealOf<T>::type> args) {
  using R = typename RealOf<T>::type;
  using Weights = LaneWeights<R, Dims, Width, Lanes>;
  constexpr int first_axis = 3 - Dims, each = Weights::each;
  constexpr unsigned all = 0xffffffffu;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ R coefficient[spread::max_degree + 1][each * Lanes];
  T* const room = reinterpret_cast<T*>(shared_bytes);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int piece = static_cast<int>(blockIdx.x) % args.cut.pieces,
            batch = static_cast<int>(blockIdx.x) / args.cut.pieces;
  PieceBox<Dims> box;
  {
    int rest = piece;
#pragma unroll
    for (int a = 2; a >= first_axis; --a) {
      box.at[a] = rest % args.cut.axis[a].count;
      rest /= args.cut.axis[a].count;
    }
  }
  box.find(args.cut);
  const i64 begin = args.starts[box.tile];
  const int count = static_cast<int>(args.starts[box.tile + 1] - begin);
  if (count == 0) return;
  i64 of_batch[2];
  args.batch.offsets(batch, of_batch);
  const T* const from = static_cast<const T*>(args.from) + of_batch[0];
  T* const to = static_cast<T*>(args.to) + of_batch[1];
  for (int i = thread; i < (spread::max_degree + 1) * each * Lanes; i += threads)
    coefficient[i / (each * Lanes)][i % (each * Lanes)] =
        args.point.coefficient[i / (each * Lanes)][i % (each * Lanes)];
  const int cells = args.cut.room.cells();
  constexpr int together = 32 / static_cast<int>(sizeof(R));  // loads that are under way at once
  for (int first = thread; first < cells; first += threads * together) {
    T value[together];
#pragma unroll
    for (int u = 0; u < together; ++u) {
      const int c = first + u * threads;
      const i64 at = c < cells ? box.element(args.cut, args.stride, Width, c) : no_element;
      value[u] = at == no_element ? T(0) : from[at];
    }
#pragma unroll
    for (int u = 0; u < together; ++u)
      if (first + u * threads < cells) room[first + u * threads] = value[u];
  }
  __syncthreads();

  const int lane = thread % Lanes, team = thread / Lanes, teams = threads / Lanes;
  const int row = args.cut.room.stride_x, plane = row * args.cut.room.cells_y;
  const R edge = args.point.edge;
  for (int base = 0; base < count; base += teams) {
    // Lanes without a point go along with the last one: those of a warp exchange weights together.
    const int next = base + team;
    const i64 point = begin + (next < count ? next : count - 1);
    bool inside = next < count, on_grid[3] = {false, false, false};
    int at = 0;
    R t[3];
#pragma unroll
    for (int a = first_axis; a < 3; ++a) {
      const PointOnAxis on = args.point.on_axis(a, Dims, point);
      const int local = box.local(args.cut, a, on.first);
      inside = inside && local >= 0 && local < box.length[a];
      at = (a == 1 ? at * args.cut.room.cells_y : a == 2 ? at * row : 0) + local;
      on_grid[a] = on.on_grid;
      t[a] = static_cast<R>(2 * on.fraction - 1);
    }
    if (!__any_sync(all, inside)) continue;
    if (!inside) at = 0;  // of another piece: whatever is there is read, and left
    Weights weights;
    weights.find(t, args.point.degree, [&](int d, int m) {
      if constexpr (Lanes == 1)
        return args.point.coefficient[d][m];
      else
        return coefficient[d][lane + m * Lanes];
    });
    R re = 0, im = 0;
    // The taps of this lane in one row.
    const auto row_sum = [&](const T* from_row, R& row_re, R& row_im, R weight) {
#pragma unroll
      for (int m = 0; m < each; ++m) {
        const int k = lane + m * Lanes;
        if (Width % Lanes != 0 && k >= Width) continue;
        const T v = from_row[k];
        const R w = weight * weights.w[2][m];
        row_re += w * v.re;
        row_im += w * v.im;
      }
    };
    if (!__any_sync(all, on_grid[0] || on_grid[1] || on_grid[2])) {
      const T* const first = room + at;
      R y[Width];
#pragma unroll
      for (int j = 0; j < Width; ++j) y[j] = weights.of(1, j);
      if constexpr (Dims == 2) {
#pragma unroll
        for (int j = 0; j < Width; ++j) row_sum(first + j * row, re, im, y[j]);
      } else {
#pragma unroll
        for (int i = 0; i < Width; ++i) {
          R plane_re = 0, plane_im = 0;
#pragma unroll
          for (int j = 0; j < Width; ++j)
            row_sum(first + i * plane + j * row, plane_re, plane_im, y[j]);
          const R z = weights.of(0, i);
          re += z * plane_re;
          im += z * plane_im;
        }
      }
    } else {
      // Points on the grid have a tap more along that axis. Nothing is weighed by zero, which would
      // make an infinite number NaN.
#pragma unroll
      for (int i = 0; i <= (Dims == 3 ? Width : 0); ++i) {
        const bool has_i = i < Width || on_grid[0];
        R z = 1;
        if constexpr (Dims == 3) z = i < Width ? weights.of(0, i < Width ? i : 0) : edge;
#pragma unroll
        for (int j = 0; j <= Width; ++j) {
          const R y = j < Width ? weights.of(1, j < Width ? j : 0) : edge;
          const bool counts = has_i && (j < Width || on_grid[1]);
          const T* const from_row = room + at + i * plane + j * row;
#pragma unroll
          for (int m = 0; m < each; ++m) {
            const int k = lane + m * Lanes;
            if (!counts || k >= Width) continue;
            const R w = z * y * weights.w[2][m];
            re += w * from_row[k].re;
            im += w * from_row[k].im;
          }
          if (counts && on_grid[2] && lane == 0) {
            re += z * y * edge * from_row[Width].re;
            im += z * y * edge * from_row[Width].im;
          }
        }
      }
    }
#pragma unroll
    for (int step = Lanes / 2; step > 0; step /= 2) {
      re += __shfl_xor_sync(all, re, step);
      im += __shfl_xor_sync(all, im, step);
    }
    if (!inside || lane != 0) continue;
    i64 offset[1];
    args.points.offsets(args.order[point], offset);
    to[offset[0]] = T(re, im);
  }
}

#endif

}  // namespace tessera::cuda
