// SPDX-License-Identifier: Apache-2.0
#pragma once
// How gridding by regions (regions.cuh) is cut: which cells a region has and which of them a warp
// and a lane own, and what lies in shared memory.
//   int cells = RegionCut<2>::length(1);   i64 bytes = region_bytes<float, 2, 4>(width, hits);

#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/interpolate/points.cuh"

namespace tessera::cuda {

inline constexpr int region_threads = 512, region_warps = region_threads / 32;
inline constexpr int most_segments = 128;  // tiles of points whose kernels reach one region

// How a region is cut: a warp owns a patch, its lanes the cells of the last two axes of the patch,
// `deep` of them each along the first of three. Warps beyond the patches share the points.
template <int Dims>
struct RegionCut {
  static constexpr int deep = Dims == 3 ? 4 : 1;
  static constexpr int lanes_y = Dims == 1 ? 1 : 4, lanes_x = Dims == 1 ? 32 : 8;
  static constexpr int patches_z = Dims == 3 ? 2 : 1,
                       patches_y = Dims == 1   ? 1
                                   : Dims == 2 ? 2
                                               : 4,
                       patches_x = Dims == 1 ? 8 : 2;
  static constexpr int length_z = deep * patches_z, length_y = lanes_y * patches_y,
                       length_x = lanes_x * patches_x;
  static constexpr int patches = patches_z * patches_y * patches_x, shares = region_warps / patches;
  static constexpr int length(int axis) {
    return axis == 0 ? length_z : axis == 1 ? length_y : length_x;
  }
};

template <class R>
struct RegionArgs {
  PointArgs<R> point;
  Loops batch;   // operands 0: grid, 1: points
  Loops points;  // operand 0: points
  i64 stride[3];
  int tile_length[3], tile_count[3];  // of the sort
  int step[3], regions[3];            // cells that a region owns, at most those of its cut
  int groups, all_regions;
  int hits;  // points that are gridded at a time: what shared memory holds
  const i64* order;
  const i64* starts;
  const void* from;
  void* to;
};

// Rows of weights of one point in shared memory: beyond the taps there are zeros, so that lanes
// whose cells the point does not reach add nothing. Odd lengths keep the rows in different banks.
TESSERA_HOST_DEVICE inline int weight_row(int width) { return (width + 2) | 1; }
template <int Dims>
TESSERA_HOST_DEVICE inline int deep_row(int width) {
  return Dims == 3 ? (width + 2 * RegionCut<Dims>::deep - 1) | 1 : 0;
}
template <class R, int Dims, int Group>
inline i64 bytes_per_hit(int width) {
  const int rows = (Dims == 1 ? 1 : 2) * weight_row(width) + deep_row<Dims>(width);
  return static_cast<i64>(sizeof(R)) * (2 * Group + rows) + 8;
}
// The list of points that wait is longer than the points taken at a time by those of one round.
template <class R, int Dims, int Group>
inline i64 region_bytes(int width, int hits) {
  const i64 rounds = hits * bytes_per_hit<R, Dims, Group>(width) + 4 * region_threads;
  const i64 sums = static_cast<i64>(sizeof(R)) * 2 * Group * region_threads;
  return RegionCut<Dims>::shares > 1 && sums > rounds ? sums : rounds;
}

}  // namespace tessera::cuda
