// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stacks of small matrices, at most 32 rows and columns: one warp takes a matrix into shared
// memory, lane r working on row r (factoring) or on column r of the right sides (solving), so that
// a stack is one launch. Pivots and answers are LAPACK's. Private to the plug-in.
//   small_lu(SmallStack{n, n, 0, batch, stream}, a, pivots, info);

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/linalg/dense.hpp"
#include "tessera/kernels/linalg/numbers_cuda.cuh"

namespace tessera::cuda {

constexpr int small_side = 32;

inline bool is_small(const DenseSpec& p) {
  return p.m <= small_side && p.n <= small_side &&
         (p.op <= DenseOp::triangular_solve);  // what stands before qr
}

struct SmallStack {
  i64 m, n, columns, batch;
  cudaStream_t stream;
};

struct SmallTriangle {
  bool lower, unit;
  Turn turn;
};

// Column-major; a column more keeps lanes that walk along a row out of each other's banks.
template <class T>
struct SmallTile {
  T at[small_side][small_side + 1];
};

template <class T>
constexpr int small_warps = sizeof(T) == 16 ? 1 : 2;

// The warps of the grid take matrices in turn: body(tile, sides, matrix, lane).
template <class T, class Body>
__device__ void each_small(i64 batch, Body&& body) {
  __shared__ SmallTile<T> tiles[small_warps<T>], sides[small_warps<T>];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  for (i64 b = static_cast<i64>(blockIdx.x) * small_warps<T> + warp; b < batch;
       b += static_cast<i64>(gridDim.x) * small_warps<T>) {
    body(tiles[warp], sides[warp], b, lane);
    __syncwarp();
  }
}

template <class T>
__device__ void load_small(SmallTile<T>& t, const T* from, int rows, int columns, int lane) {
  for (int c = 0; c < columns; ++c)
    if (lane < rows) t.at[c][lane] = from[c * rows + lane];
  __syncwarp();
}

template <class T>
__device__ void store_small(const SmallTile<T>& t, T* to, int rows, int columns, int lane) {
  __syncwarp();
  for (int c = 0; c < columns; ++c)
    if (lane < rows) to[c * rows + lane] = t.at[c][lane];
}

// The row of the largest number at or below row j of column j; the first of equals.
template <class T>
__device__ int pivot_row(const SmallTile<T>& t, int m, int j, int lane, Real<T>* size) {
  Real<T> best = lane >= j && lane < m ? length_of(t.at[j][lane]) : Real<T>(-1);
  int row = lane;
  for (int step = 16; step > 0; step /= 2) {
    const Real<T> other = __shfl_xor_sync(0xffffffffu, best, step);
    const int its_row = __shfl_xor_sync(0xffffffffu, row, step);
    if (other > best || (other == best && its_row < row)) {
      best = other;
      row = its_row;
    }
  }
  // Where numbers are missing (NaN) lanes may disagree: the first one's word counts.
  *size = __shfl_sync(0xffffffffu, best, 0);
  row = __shfl_sync(0xffffffffu, row, 0);
  return row < j || row >= m ? j : row;
}

// P L U in place; returns the first pivot that is zero, from 1. exchanged(j, row) is told.
template <class T, class Exchanged>
__device__ int factor_lu(SmallTile<T>& t, int m, int n, int lane, Exchanged&& exchanged) {
  int lost = 0;
  for (int j = 0; j < min(m, n); ++j) {
    Real<T> size;
    const int row = pivot_row(t, m, j, lane, &size);
    exchanged(j, row);
    if (row != j && lane < n) {
      const T kept = t.at[lane][j];
      t.at[lane][j] = t.at[lane][row];
      t.at[lane][row] = kept;
    }
    __syncwarp();
    if (size == Real<T>(0)) {
      if (lost == 0) lost = j + 1;
      continue;
    }
    if (lane > j && lane < m) {
      const T factor = t.at[j][lane] / t.at[j][j];
      t.at[j][lane] = factor;
      for (int c = j + 1; c < n; ++c)
        t.at[c][lane] = t.at[c][lane] - product_of(factor, t.at[c][j]);
    }
    __syncwarp();
  }
  return lost;
}

// This lane's column of the sides: op(triangle) x = b in place.
template <class T>
__device__ void substitute(const SmallTile<T>& t, T* x, int n, SmallTriangle how) {
  const auto element = [&](int i, int j) {
    if (how.turn == Turn::none) return t.at[j][i];
    return how.turn == Turn::adjoint ? conjugated(t.at[i][j]) : t.at[i][j];
  };
  const bool down = how.lower == (how.turn == Turn::none);
  for (int step = 0; step < n; ++step) {
    const int i = down ? step : n - 1 - step;
    if (!how.unit) x[i] = x[i] / element(i, i);
    const T value = x[i];
    for (int r = down ? i + 1 : 0; r < (down ? n : i); ++r)
      x[r] = x[r] - product_of(element(r, i), value);
  }
}

template <class T>
__device__ void exchange(T* x, int i, i64 with) {
  const T kept = x[i];
  x[i] = x[with];
  x[with] = kept;
}

// Right sides, 32 columns at a time: solve(x) works on one column.
template <class T, class Solve>
__device__ void each_side(SmallTile<T>& sides, T* b, int n, i64 columns, int lane, Solve&& solve) {
  for (i64 first = 0; first < columns; first += small_side) {
    const int count = static_cast<int>(columns - first < small_side ? columns - first : small_side);
    load_small(sides, b + first * n, n, count, lane);
    if (lane < count) solve(sides.at[lane]);
    store_small(sides, b + first * n, n, count, lane);
    __syncwarp();
  }
}

template <class T>
__global__ void run_small_lu(SmallStack s, T* a, i64* pivots, int* info) {
  const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = min(m, n);
  each_small<T>(s.batch, [&](SmallTile<T>& t, SmallTile<T>&, i64 b, int lane) {
    load_small(t, a + b * m * n, m, n, lane);
    const int lost = factor_lu(t, m, n, lane, [&](int j, int row) {
      if (lane == 0) pivots[b * k + j] = row + 1;
    });
    store_small(t, a + b * m * n, m, n, lane);
    if (lane == 0) info[b] = lost;
  });
}

template <class T>
__global__ void run_small_lu_solve(SmallStack s, const T* a, const i64* pivots, T* right,
                                   Turn turn) {
  const int n = static_cast<int>(s.n);
  each_small<T>(s.batch, [&](SmallTile<T>& t, SmallTile<T>& sides, i64 b, int lane) {
    load_small(t, a + b * n * n, n, n, lane);
    const i64* exchanges = pivots + b * n;
    each_side(sides, right + b * n * s.columns, n, s.columns, lane, [&](T* x) {
      if (turn == Turn::none) {
        for (int j = 0; j < n; ++j) exchange(x, j, exchanges[j] - 1);
        substitute(t, x, n, {true, true, turn});
        substitute(t, x, n, {false, false, turn});
      } else {
        substitute(t, x, n, {false, false, turn});
        substitute(t, x, n, {true, true, turn});
        for (int j = n - 1; j >= 0; --j) exchange(x, j, exchanges[j] - 1);
      }
    });
  });
}

template <class T>
__global__ void run_small_inverse(SmallStack s, const T* a, T* x, int* info) {
  const int n = static_cast<int>(s.n);
  each_small<T>(s.batch, [&](SmallTile<T>& t, SmallTile<T>& sides, i64 b, int lane) {
    load_small(t, a + b * n * n, n, n, lane);
    T* column = sides.at[lane];
    for (int i = 0; i < n; ++i) column[i] = number<T>(i == lane ? 1 : 0);
    const int lost = factor_lu(t, n, n, lane, [&](int j, int row) { exchange(column, j, row); });
    if (lane == 0) info[b] = lost;
    if (lost != 0) {
      for (int i = 0; i < n; ++i) column[i] = number<T>(Real<T>(NAN));
    } else {
      substitute(t, column, n, {true, true, Turn::none});
      substitute(t, column, n, {false, false, Turn::none});
    }
    store_small(sides, x + b * n * n, n, n, lane);
  });
}

// The lower factor of the lower triangle; a matrix given by its upper one is read and written as
// its adjoint.
template <class T>
__global__ void run_small_cholesky(SmallStack s, T* a, int* info, bool lower) {
  const int n = static_cast<int>(s.n);
  each_small<T>(s.batch, [&](SmallTile<T>& t, SmallTile<T>&, i64 b, int lane) {
    T* matrix = a + b * n * n;
    for (int c = 0; c < n; ++c)
      if (lane < n) {
        if (lower)
          t.at[c][lane] = matrix[c * n + lane];
        else
          t.at[lane][c] = conjugated(matrix[c * n + lane]);
      }
    __syncwarp();
    int lost = 0;
    for (int j = 0; j < n && lost == 0; ++j) {
      const Real<T> square = real_part(t.at[j][j]);
      if (!(square > Real<T>(0))) {
        lost = j + 1;
        break;
      }
      const Real<T> root = sqrt(square);
      __syncwarp();
      if (lane == j) t.at[j][j] = number<T>(root);
      if (lane > j && lane < n) t.at[j][lane] = times(t.at[j][lane], Real<T>(1) / root);
      __syncwarp();
      if (lane > j && lane < n)
        for (int c = j + 1; c <= lane; ++c)
          t.at[c][lane] = t.at[c][lane] - product_of(t.at[j][lane], conjugated(t.at[j][c]));
      __syncwarp();
    }
    for (int c = 0; c < n; ++c)
      if (lane < n) {
        const int row = lower ? lane : c, column = lower ? c : lane;
        T value = row < column ? number<T>(0) : t.at[column][row];
        matrix[c * n + lane] = lower ? value : conjugated(value);
      }
    if (lane == 0) info[b] = lost;
  });
}

template <class T>
__global__ void run_small_substitutions(SmallStack s, const T* a, T* right, SmallTriangle first,
                                        SmallTriangle second, bool both) {
  const int n = static_cast<int>(s.n);
  each_small<T>(s.batch, [&](SmallTile<T>& t, SmallTile<T>& sides, i64 b, int lane) {
    load_small(t, a + b * n * n, n, n, lane);
    each_side(sides, right + b * n * s.columns, n, s.columns, lane, [&](T* x) {
      substitute(t, x, n, first);
      if (both) substitute(t, x, n, second);
    });
  });
}

template <class T>
unsigned small_blocks(const SmallStack& s) {
  return blocks_for(s.batch, small_warps<T>, 1 << 20);
}

template <class T>
void small_lu(const SmallStack& s, T* a, i64* pivots, int* info) {
  run_small_lu<T><<<small_blocks<T>(s), 32 * small_warps<T>, 0, s.stream>>>(s, a, pivots, info);
  check_launch("factoring small matrices");
}

template <class T>
void small_lu_solve(const SmallStack& s, const T* a, const i64* pivots, T* b, Turn turn) {
  run_small_lu_solve<T>
      <<<small_blocks<T>(s), 32 * small_warps<T>, 0, s.stream>>>(s, a, pivots, b, turn);
  check_launch("solving with small matrices");
}

template <class T>
void small_inverse(const SmallStack& s, const T* a, T* x, int* info) {
  run_small_inverse<T><<<small_blocks<T>(s), 32 * small_warps<T>, 0, s.stream>>>(s, a, x, info);
  check_launch("inverting small matrices");
}

template <class T>
void small_cholesky(const SmallStack& s, T* a, int* info, bool lower) {
  run_small_cholesky<T>
      <<<small_blocks<T>(s), 32 * small_warps<T>, 0, s.stream>>>(s, a, info, lower);
  check_launch("factoring small matrices");
}

template <class T>
void small_triangular_solve(const SmallStack& s, const T* a, T* b, SmallTriangle how) {
  run_small_substitutions<T>
      <<<small_blocks<T>(s), 32 * small_warps<T>, 0, s.stream>>>(s, a, b, how, how, false);
  check_launch("solving with small triangles");
}

template <class T>
void small_cholesky_solve(const SmallStack& s, const T* a, T* b, bool lower) {
  const SmallTriangle plain{lower, false, Turn::none}, turned{lower, false, Turn::adjoint};
  run_small_substitutions<T><<<small_blocks<T>(s), 32 * small_warps<T>, 0, s.stream>>>(
      s, a, b, lower ? plain : turned, lower ? turned : plain, true);
  check_launch("solving with small triangles");
}

}  // namespace tessera::cuda
