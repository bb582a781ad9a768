// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gridding on CUDA without atomics: a block owns a region of the grid, whose sums lie in registers,
// and goes through the points near it in their order, so that every run gives the same bits. For
// kernels whose weights are polynomials (piecewise.hpp); see Note [regions].
//   gridding_regions_kernel<c64, 2, 4><<<regions * groups, region_threads, bytes>>>(args);

#include "tessera/kernels/interpolate/region_layout.cuh"

namespace tessera::cuda {

#ifdef __CUDACC__

// The tiles along one axis that hold points whose kernels may reach cells `low` to `high`: tiles 0
// to `first_end` and, where the grid repeats, further ones from `second`.
struct TileRange {
  int begin, first_end, second, count;
  template <class R>
  __device__ TileRange(const RegionArgs<R>& args, int axis, int low, int high) {
    const int length = args.tile_length[axis], tiles = args.tile_count[axis];
    const auto tile = [&](int cell) { return min(cell / length, tiles - 1); };
    const int from = low - args.point.width;
    begin = from < 0 ? 0 : tile(from);
    first_end = tile(high) + 1;
    second = tiles;
    if (from < 0 && args.point.circular)
      second = max(tile(from + args.point.size[axis]), first_end);
    count = first_end - begin + tiles - second;
  }
  __device__ int operator[](int k) const {
    return k < first_end - begin ? begin + k : second + k - (first_end - begin);
  }
};

template <class R, int Group>
struct alignas(sizeof(R) * 2 * Group < 16 ? 8 : 16) HitValues {
  R part[2 * Group];
};

// Blocks that share a multiprocessor, where that leaves enough registers for the sums.
template <class T, int Dims, int Group>
inline constexpr int blocks_together = sizeof(T) == sizeof(c64) && (Dims < 3 || Group == 1) ? 2 : 1;

// What one lane has summed.
template <class R, int Deep, int Group>
struct PatchSums {
  R re[Deep][Group] = {}, im[Deep][Group] = {};

  // Cells that the point does not reach have weights of zero, and those that it does have not:
  // Careful leaves out the former, which an infinite value would make NaN.
  template <int Dims, bool Careful>
  __device__ void add(R weight, const R* z, const HitValues<R, Group>& v) {
#pragma unroll
    for (int k = 0; k < Deep; ++k) {
      R here = weight;
      if constexpr (Dims > 2) here *= z[k];
      if (Careful && here == R(0)) continue;
#pragma unroll
      for (int b = 0; b < Group; ++b) {
        re[k][b] += here * v.part[2 * b];
        im[k][b] += here * v.part[2 * b + 1];
      }
    }
  }
};

// Note [regions]
// A round takes one candidate per thread out of the tiles near the region, keeps those that reach
// it (in order), and appends them to a list. When the list is long enough, threads make the weights
// of one point each and fetch its values; then every warp goes through the points: its lanes look at
// 32 of them at once, and together they add those that reach the patch. Nothing depends on which
// warp is first: a cell is summed by one thread in the order of the points, and shares of the points
// are added in order at the end.
template <class T, int Dims, int Group>
__global__ void __launch_bounds__(region_threads, blocks_together<T, Dims, Group>)
    gridding_regions_kernel(const __grid_constant__ RegionArgs<typename RealOf<T>::type> args) {
  using R = typename RealOf<T>::type;
  using Cut = RegionCut<Dims>;
  using Values = HitValues<R, Group>;
  constexpr int deep = Cut::deep, first_axis = 3 - Dims;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ i64 segment_begin[most_segments];
  __shared__ int segment_sum[most_segments + 1], warp_hits[region_warps];

  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int width = args.point.width, row = weight_row(width), z_row = deep_row<Dims>(width);
  Values* value = reinterpret_cast<Values*>(shared_bytes);
  R* weight_x = reinterpret_cast<R*>(value + args.hits);
  R* weight_y = weight_x + args.hits * row;
  R* weight_z = weight_y + (Dims > 1 ? args.hits * row : 0);
  unsigned* place = reinterpret_cast<unsigned*>(weight_z + args.hits * z_row);
  int* list = reinterpret_cast<int*>(place + args.hits);

  const int group = static_cast<int>(blockIdx.x) / args.all_regions;
  int low[3] = {0, 0, 0}, length[3] = {1, 1, 1};
  {
    int rest = static_cast<int>(blockIdx.x) % args.all_regions;
#pragma unroll
    for (int a = 2; a >= first_axis; --a) {
      low[a] = rest % args.regions[a] * args.step[a];
      length[a] = min(args.step[a], args.point.size[a] - low[a]);
      rest /= args.regions[a];
    }
  }
  const i64 first_batch = static_cast<i64>(group) * Group;
  const int batches = static_cast<int>(
      args.batch.count - first_batch < Group ? args.batch.count - first_batch : Group);

  // The tiles whose points are candidates.
  int segments = 0;
  {
    const TileRange x(args, 2, low[2], low[2] + length[2] - 1);
    const TileRange y(args, Dims > 1 ? 1 : 2, low[1], low[1] + length[1] - 1);
    const TileRange z(args, Dims > 2 ? 0 : 2, low[0], low[0] + length[0] - 1);
    const int ny = Dims > 1 ? y.count : 1, nz = Dims > 2 ? z.count : 1;
    segments = x.count * ny * nz;
    for (int s = thread; s < segments; s += region_threads) {
      i64 tile = x[s % x.count];
      if constexpr (Dims > 1) tile += static_cast<i64>(args.tile_count[2]) * y[s / x.count % ny];
      if constexpr (Dims > 2)
        tile += static_cast<i64>(args.tile_count[2]) * args.tile_count[1] * z[s / x.count / ny];
      segment_begin[s] = args.starts[tile];
      segment_sum[s + 1] = static_cast<int>(args.starts[tile + 1] - segment_begin[s]);
    }
    __syncthreads();
    if (thread == 0) {
      segment_sum[0] = 0;
      for (int s = 0; s < segments; ++s) segment_sum[s + 1] += segment_sum[s];
    }
    __syncthreads();
  }
  const int candidates = segment_sum[segments];
  if (candidates == 0) return;

  const int patch = warp % Cut::patches, share = warp / Cut::patches;
  const int patch_x = patch % Cut::patches_x * Cut::lanes_x,
            patch_y = patch / Cut::patches_x % Cut::patches_y * Cut::lanes_y,
            patch_z = patch / (Cut::patches_x * Cut::patches_y) * deep;
  const int cell_x = patch_x + lane % Cut::lanes_x, cell_y = patch_y + lane / Cut::lanes_x;
  PatchSums<R, deep, Group> sums;

  int waiting = 0;
  bool touched = false;
  for (int base = 0; base < candidates; base += region_threads) {
    bool hit = false;
    int index = 0;
    if (base + thread < candidates) {
      int s = 0, end = segments;  // the segment of this candidate: sum[s] <= it < sum[s + 1]
      while (end - s > 1) {
        const int middle = (s + end) / 2;
        (segment_sum[middle] <= base + thread ? s : end) = middle;
      }
      index = static_cast<int>(segment_begin[s]) + base + thread - segment_sum[s];
      hit = true;
#pragma unroll
      for (int a = first_axis; a < 3; ++a)
        hit = hit && args.point.on_axis(a, Dims, index).reaches(args.point, a, low[a], length[a]);
    }
    const unsigned of_warp = __ballot_sync(0xffffffffu, hit);
    if (lane == 0) warp_hits[warp] = __popc(of_warp);
    __syncthreads();
    int before = waiting, found = 0;
    for (int w = 0; w < region_warps; ++w) {
      if (w < warp) before += warp_hits[w];
      found += warp_hits[w];
    }
    if (hit) list[before + __popc(of_warp & ((1u << lane) - 1))] = index;
    waiting += found;
    __syncthreads();

    const bool last = base + region_threads >= candidates;
    while (waiting >= args.hits || (last && waiting > 0)) {
      const int taken = min(waiting, args.hits);
      touched = true;
      for (int p = thread; p < taken; p += region_threads) {
        const int point = list[p];
        PointOnAxis at[3];
        unsigned word = 0;
#pragma unroll
        for (int a = first_axis; a < 3; ++a) {
          at[a] = args.point.on_axis(a, Dims, point);
          word |= static_cast<unsigned>(at[a].cell(args.point, a, low[a]) + place_bias)
                  << ((2 - a) * place_bits);
          if (at[a].on_grid) word |= place_on_grid;
        }
        R *x = weight_x + p * row, *y = weight_y + p * row, *z = weight_z + p * z_row + deep - 1;
        args.point.template weights<Dims>(at, z, y, x);
        x[width + 1] = R(0);
        if constexpr (Dims > 1) y[width + 1] = R(0);
        if constexpr (Dims > 2)
#pragma unroll
          for (int k = 1; k < deep; ++k) z[-k] = z[width + k] = R(0);
        i64 from[1];
        args.points.offsets(args.order[point], from);
        Values v;
#pragma unroll
        for (int b = 0; b < Group; ++b) {
          T here(0);
          if (b < batches) {
            i64 of_batch[2];
            args.batch.offsets(first_batch + b, of_batch);
            here = static_cast<const T*>(args.from)[of_batch[1] + from[0]];
          }
          v.part[2 * b] = here.re;
          v.part[2 * b + 1] = here.im;
          if (!(here.re - here.re == R(0) && here.im - here.im == R(0))) word |= place_not_finite;
        }
        value[p] = v;
        place[p] = word;
      }
      __syncthreads();

      for (int g = share * 32; g < taken; g += Cut::shares * 32) {
        const unsigned mine = g + lane < taken ? place[g + lane] : 0;
        const int reach = width - 1 + (mine & place_on_grid ? 1 : 0);
        bool near = g + lane < taken;
        const auto meets = [&](int axis, int begin, int cells) {
          const int first = place_of(mine, axis);
          return first < begin + cells && first + reach >= begin;
        };
        near = near && meets(2, patch_x, Cut::lanes_x);
        if constexpr (Dims > 1) near = near && meets(1, patch_y, Cut::lanes_y);
        if constexpr (Dims > 2) near = near && meets(0, patch_z, deep);
        unsigned mask = __ballot_sync(0xffffffffu, near);
        while (mask != 0) {
          const int p = g + __ffs(static_cast<int>(mask)) - 1;
          mask &= mask - 1;
          const unsigned word = place[p];
          const auto tap = [&](int axis, int cell) {
            return min(static_cast<unsigned>(cell - place_of(word, axis)),
                       static_cast<unsigned>(width + 1));
          };
          R w = weight_x[p * row + tap(2, cell_x)];
          if constexpr (Dims > 1) w *= weight_y[p * row + tap(1, cell_y)];
          const R* z = weight_z + p * z_row + deep - 1 + patch_z - place_of(word, 0);
          if (word & place_not_finite)
            sums.template add<Dims, true>(w, z, value[p]);
          else
            sums.template add<Dims, false>(w, z, value[p]);
        }
      }
      waiting -= taken;
      const int moved = thread < waiting ? list[taken + thread] : 0;
      __syncthreads();
      if (thread < waiting) list[thread] = moved;
      __syncthreads();
    }
  }
  if (!touched) return;

  if constexpr (Cut::shares > 1) {
    Values* part = reinterpret_cast<Values*>(shared_bytes);
    for (int s = 1; s < Cut::shares; ++s) {
      if (share == s) {
        Values v;
#pragma unroll
        for (int b = 0; b < Group; ++b) {
          v.part[2 * b] = sums.re[0][b];
          v.part[2 * b + 1] = sums.im[0][b];
        }
        part[patch * 32 + lane] = v;
      }
      __syncthreads();
      if (share == 0) {
        const Values v = part[patch * 32 + lane];
#pragma unroll
        for (int b = 0; b < Group; ++b) {
          sums.re[0][b] += v.part[2 * b];
          sums.im[0][b] += v.part[2 * b + 1];
        }
      }
      __syncthreads();
    }
    if (share > 0) return;
  }
  if (cell_x >= length[2] || cell_y >= length[1]) return;
  const i64 row_at = static_cast<i64>(low[1] + cell_y) * args.stride[1] +
                     static_cast<i64>(low[2] + cell_x) * args.stride[2];
#pragma unroll
  for (int b = 0; b < Group; ++b) {
    if (b >= batches) break;
    i64 of_batch[2];
    args.batch.offsets(first_batch + b, of_batch);
    T* to = static_cast<T*>(args.to) + of_batch[0] + row_at;
#pragma unroll
    for (int k = 0; k < deep; ++k)
      if (patch_z + k < length[0]) {
        T& cell = to[static_cast<i64>(low[0] + patch_z + k) * args.stride[0]];
        cell = T(cell.re + sums.re[k][b], cell.im + sums.im[k][b]);
      }
  }
}

#endif

}  // namespace tessera::cuda
