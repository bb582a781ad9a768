// SPDX-License-Identifier: Apache-2.0
#pragma once
// LU and solves with it, one block for a matrix in its shared memory; pivots are LAPACK's. Private
// to the plug-in.
//   block_lu<double>(BlockLu(spec), BlockLu::bytes<double>(spec), a, pivots, info, stream);

#include "tessera/kernels/linalg/block_cuda.cuh"
#include "tessera/kernels/linalg/dense.hpp"

namespace tessera::cuda {

// LAPACK's measure of a pivot.
template <class T>
__device__ Real<T> pivot_size(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return fabs(x);
  else
    return fabs(x.re) + fabs(x.im);
}

// The row of the largest number of x from row j on, the first of equals; each warp finds the same.
template <class T>
__device__ int largest_row(const T* x, int j, int m) {
  using R = Real<T>;
  R best = -1;
  int row = m;
  for (int r = j + static_cast<int>(threadIdx.x) % 32; r < m; r += 32)
    if (const R size = pivot_size(x[r]); size > best) {
      best = size;
      row = r;
    }
  for (int step = 16; step > 0; step /= 2) {
    const R other = from_lane(best, step);
    const int its_row = __shfl_xor_sync(0xffffffffu, row, step);
    if (other > best || (other == best && its_row < row)) {
      best = other;
      row = its_row;
    }
  }
  return row < m ? row : j;  // no number is larger than another where all are NaN
}

// P L U in place; returns the first pivot that is zero, from 1. `v` has room for m numbers.
template <class T>
__device__ int factor_block_lu(const BlockTile<T>& a, int m, int n, T* v, i64* pivots, int lanes) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x),
            team = thread / lanes, lane = thread % lanes, teams = threads / lanes;
  int lost = 0;
  for (int j = 0; j < min(m, n); ++j) {
    T* below = a.column(j);
    const int row = largest_row(below, j, m);
    if (thread == 0) pivots[j] = row + 1;
    const T pivot = below[row];
    if (pivot == number<T>(0)) {
      if (lost == 0) lost = j + 1;
      continue;
    }
    for (int c = thread; c < n; c += threads)
      if (c != j && row != j) {
        T* x = a.column(c);
        const T kept = x[j];
        x[j] = x[row];
        x[row] = kept;
      }
    for (int r = j + 1 + thread; r < m; r += threads) v[r] = below[r == row ? j : r] / pivot;
    __syncthreads();
    for (int c = j + 1 + team; c < n; c += teams) {
      T* x = a.column(c);
      const T value = x[j];
      for (int r = j + 1 + lane; r < m; r += lanes) x[r] = x[r] - product_of(v[r], value);
    }
    for (int r = j + thread; r < m; r += threads) below[r] = r == j ? pivot : v[r];
    __syncthreads();
  }
  return lost;
}

struct BlockLu {
  explicit BlockLu(const DenseSpec& p)
      : m(static_cast<int>(p.m)),
        n(static_cast<int>(p.n)),
        batch(p.batch),
        team(team_for(p.n, p.m)),
        apart(static_cast<int>(rows_apart(p.m, team.lanes))) {}
  // In 64 bits: asked of matrices of any size.
  template <class T>
  static i64 bytes(const DenseSpec& p) {
    return (rows_apart(p.m, team_for(p.n, p.m).lanes) * p.n + p.m) * static_cast<i64>(sizeof(T));
  }
  // Of solves: the matrix, a column for each team, the order of rows.
  template <class T>
  static i64 solve_bytes(const DenseSpec& p) {
    const Team team = team_for(p.n, p.n);
    return rows_apart(p.n, team.lanes) * (p.n + team.threads / team.lanes) *
               static_cast<i64>(sizeof(T)) +
           p.n * static_cast<i64>(sizeof(int));
  }
  int m, n;
  i64 batch;
  Team team;
  int apart;
};

template <class T>
__global__ void run_block_lu(BlockLu s, T* a, i64* pivots, int* info) {
  const BlockTile<T> tile{reinterpret_cast<T*>(block_room), s.apart};
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (i64 b = blockIdx.x; b < s.batch; b += gridDim.x) {
    T* matrix = a + b * s.m * s.n;
    for (int i = thread; i < s.m * s.n; i += threads) tile.column(i / s.m)[i % s.m] = matrix[i];
    __syncthreads();
    const int lost =
        factor_block_lu(tile, s.m, s.n, tile.column(s.n), pivots + b * min(s.m, s.n), s.team.lanes);
    __syncthreads();
    for (int i = thread; i < s.m * s.n; i += threads) matrix[i] = tile.column(i / s.m)[i % s.m];
    if (thread == 0) info[b] = lost;
    __syncthreads();
  }
}

// This team's column: op(triangle) x = x in place; all lanes of the warp call it.
template <class T>
__device__ void substitute_team(const BlockTile<T>& a, T* x, int n, bool lower, bool unit,
                                Turn turn, bool mine, int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const auto element = [&](int i, int j) {
    if (turn == Turn::none) return a.column(j)[i];
    return turn == Turn::adjoint ? conjugated(a.column(i)[j]) : a.column(i)[j];
  };
  const bool down = lower == (turn == Turn::none);
  for (int step = 0; step < n; ++step) {
    const int i = down ? step : n - 1 - step, first = down ? i + 1 : 0, last = down ? n : i;
    if (!unit && mine && lane == 0) x[i] = x[i] / element(i, i);
    __syncwarp();
    for (int r = first + lane; mine && r < last; r += lanes)
      x[r] = x[r] - product_of(element(r, i), x[i]);
    __syncwarp();
  }
}

// Right sides (n, columns) become solutions; NaN where `info`, if there is one, is not 0. Blocks of
// the second dimension share the columns of a matrix.
template <class T>
__global__ void run_block_lu_solve(BlockLu s, const T* a, const i64* pivots, T* right, i64 columns,
                                   Turn turn, const int* info) {
  const BlockTile<T> tile{reinterpret_cast<T*>(block_room), s.apart};
  const int n = s.n, lanes = s.team.lanes, thread = static_cast<int>(threadIdx.x),
            threads = static_cast<int>(blockDim.x), team = thread / lanes, lane = thread % lanes,
            teams = threads / lanes;
  T* x = tile.column(n + team);
  int* order = reinterpret_cast<int*>(tile.column(n + teams));
  for (i64 b = blockIdx.x; b < s.batch; b += gridDim.x) {
    const T* matrix = a + b * n * n;
    for (int i = thread; i < n * n; i += threads) tile.column(i / n)[i % n] = matrix[i];
    if (thread == 0) {
      for (int j = 0; j < n; ++j) order[j] = j;
      for (int j = 0; j < n; ++j) {
        const int other = static_cast<int>(pivots[b * n + j]) - 1, kept = order[j];
        order[j] = order[other];
        order[other] = kept;
      }
    }
    __syncthreads();
    const bool lost = info && info[b] != 0, plain = turn == Turn::none;
    for (i64 base = static_cast<i64>(blockIdx.y) * teams; base < columns;
         base += static_cast<i64>(gridDim.y) * teams) {
      const bool mine = base + team < columns;
      T* given = right + (b * columns + base + team) * n;
      for (int r = lane; mine && r < n; r += lanes) x[r] = given[plain ? order[r] : r];
      __syncwarp();
      substitute_team(tile, x, n, plain, plain, turn, mine, lanes);
      substitute_team(tile, x, n, !plain, !plain, turn, mine, lanes);
      for (int r = lane; mine && r < n; r += lanes)
        given[plain ? r : order[r]] = lost ? number<T>(Real<T>(NAN)) : x[r];
      __syncwarp();
    }
    __syncthreads();
  }
}

template <class T>
__global__ void fill_identities(T* x, i64 n, i64 batch) {
  for (i64 i = thread_position(); i < batch * n * n; i += thread_count())
    x[i] = number<T>(i % (n * n) / n == i % n ? 1 : 0);
}

template <class T>
void block_lu(const BlockLu& s, i64 bytes, T* a, i64* pivots, int* info, cudaStream_t stream) {
  run_block_lu<T><<<blocks_for(s.batch, 1), static_cast<unsigned>(s.team.threads),
                    static_cast<std::size_t>(bytes), stream>>>(s, a, pivots, info);
  check_launch("factoring matrices in shared memory");
}

template <class T>
void block_lu_solve(const BlockLu& s, i64 bytes, const T* a, const i64* pivots, T* b, i64 columns,
                    Turn turn, const int* info, cudaStream_t stream) {
  const unsigned down = blocks_for(s.batch, 1),
                 across = blocks_for(columns, s.team.threads / s.team.lanes,
                                     std::max<i64>(1, 1024 / s.batch));
  run_block_lu_solve<T>
      <<<dim3(down, across), static_cast<unsigned>(s.team.threads), static_cast<std::size_t>(bytes),
         stream>>>(s, a, pivots, b, columns, turn, info);
  check_launch("solving with matrices in shared memory");
}

}  // namespace tessera::cuda
