// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stacks of matrices that fit into the shared memory of a block: one block takes one matrix at a
// time, so that a stack is one launch. A column belongs to a team of lanes, each of which works on
// every lanes-th row. Private to the plug-in.
//   const Team team = team_for(columns, rows);   kernel<<<blocks, team.threads, bytes, stream>>>

#include <cfloat>

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/linalg/numbers_cuda.cuh"

namespace tessera::cuda {

struct Team {
  int threads = 32, lanes = 1;  // of a block; of a team: a power of two, at most 32
};

// Enough threads to hide the latency of shared memory, few enough for many blocks at a time where
// matrices are small.
inline Team team_for(i64 teams, i64 rows) {
  const i64 most = rows > 32 ? 256 : 64;
  Team t;
  while (t.lanes < 32 && t.lanes < rows && 2 * t.lanes * teams <= most) t.lanes *= 2;
  t.threads = static_cast<int>(std::clamp<i64>((teams * t.lanes + 31) / 32 * 32, 32, 256));
  return t;
}

// Rows from one column to the next. An odd number of times `lanes` keeps the teams of a warp out of
// each other's banks.
inline i64 rows_apart(i64 rows, int lanes) { return ((rows + lanes - 1) / lanes | 1) * lanes; }

extern __shared__ __align__(16) unsigned char block_room[];

// A column-major matrix in shared memory.
template <class T>
struct BlockTile {
  T* at;
  int apart;
  __device__ T* column(int c) const { return at + c * apart; }
};

template <class T>
__device__ T from_lane(const T& x, int step) {
  if constexpr (std::is_floating_point_v<T>)
    return __shfl_xor_sync(0xffffffffu, x, step);
  else
    return T(__shfl_xor_sync(0xffffffffu, x.re, step), __shfl_xor_sync(0xffffffffu, x.im, step));
}

// The sum over a team, the same in all of its lanes; all lanes of the warp call it.
template <class T>
__device__ T sum_of_team(T x, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) x = x + from_lane(x, step);
  return x;
}

template <class R>
__device__ R most_of_warp(R x) {
  for (int step = 16; step > 0; step /= 2) x = fmax(x, from_lane(x, step));
  return x;
}

template <class T>
__device__ Real<T> square_of(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return x * x;
  else
    return x.re * x.re + x.im * x.im;
}

template <class T>
__device__ Real<T> largest_part(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return fabs(x);
  else
    return fmax(fabs(x.re), fabs(x.im));
}

// e with most / 2^e near one, where neither 2^e nor 2^-e leaves the range; 0 for what is not
// finite.
template <class R>
__device__ int exponent_of(R most) {
  constexpr int least = std::is_same_v<R, float> ? FLT_MIN_EXP : DBL_MIN_EXP;
  int e = 0;
  if (isfinite(most)) frexp(most, &e);
  return e < least ? least : e;
}

}  // namespace tessera::cuda
