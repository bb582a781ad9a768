// SPDX-License-Identifier: Apache-2.0
#pragma once
// QR by reflections, one block for a matrix in its shared memory; signs are LAPACK's. Private to
// the plug-in.
//   block_qr<double>(BlockQr(spec), BlockQr::bytes<double>(spec), a, q, r, info, stream);

#include "tessera/kernels/linalg/block_cuda.cuh"
#include "tessera/kernels/linalg/dense.hpp"

namespace tessera::cuda {

// LAPACK's larfg: I - tau v vᴴ turns rows j.. of the column x into (beta, 0, ...). v[j] is 1; all
// threads of the block write v, each warp finds the same tau and beta.
template <class T>
__device__ T reflection_of(const T* x, int j, int m, T* v, T* beta) {
  using R = Real<T>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  R most = 0, below = 0;
  for (int r = j + lane; r < m; r += 32) most = fmax(most, largest_part(x[r]));
  const int e = exponent_of(most_of_warp(most));
  const R scale = ldexp(R(1), -e);
  for (int r = j + 1 + lane; r < m; r += 32) below += square_of(times(x[r], scale));
  below = sum_of_team(below, 32);
  const T alpha = times(x[j], scale);
  T tau = number<T>(0), factor = number<T>(0);
  *beta = x[j];
  if (!(below == R(0) && alpha == number<T>(real_part(alpha)))) {
    const R length = -copysign(sqrt(square_of(alpha) + below), real_part(alpha));
    tau = (number<T>(length) - alpha) / number<T>(length);
    factor = number<T>(1) / (alpha - number<T>(length));
    *beta = number<T>(ldexp(length, e));
  }
  for (int r = j + static_cast<int>(threadIdx.x); r < m; r += static_cast<int>(blockDim.x))
    v[r] = r == j ? number<T>(1) : product_of(times(x[r], scale), factor);
  return tau;
}

// Columns first.. of `a` become (I - t v vᴴ) times them; v has rows j.. only.
template <class T>
__device__ void reflect(const BlockTile<T>& a, const T* v, T t, int j, int m, int first, int last,
                        int lanes) {
  if (t == number<T>(0)) return;
  const int team = static_cast<int>(threadIdx.x) / lanes,
            lane = static_cast<int>(threadIdx.x) % lanes,
            teams = static_cast<int>(blockDim.x) / lanes;
  for (int base = first; base < last; base += teams) {
    const bool mine = base + team < last;
    T* x = a.column(mine ? base + team : first);
    T sum = number<T>(0);
    for (int r = j + lane; mine && r < m; r += lanes)
      sum = sum + product_of(conjugated(v[r]), x[r]);
    const T f = product_of(t, sum_of_team(sum, lanes));
    for (int r = j + lane; mine && r < m; r += lanes) x[r] = x[r] - product_of(f, v[r]);
  }
}

// R in and above the diagonal, the reflections below it; `v` has room for m numbers.
template <class T>
__device__ void factor_qr(const BlockTile<T>& a, int m, int n, T* v, T* tau, int lanes) {
  for (int j = 0; j < min(m, n); ++j) {
    T beta;
    const T t = reflection_of(a.column(j), j, m, v, &beta);
    if (threadIdx.x == 0) tau[j] = t;
    __syncthreads();
    reflect(a, v, conjugated(t), j, m, j + 1, n, lanes);
    for (int r = j + static_cast<int>(threadIdx.x); r < m; r += static_cast<int>(blockDim.x))
      a.column(j)[r] = r == j ? beta : v[r];
    __syncthreads();
  }
}

// The first `columns` columns of Q in place of k reflections.
template <class T>
__device__ void form_q(const BlockTile<T>& a, int m, int columns, int k, T* v, const T* tau,
                       int lanes) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < (columns - k) * m; i += threads)
    a.column(k + i / m)[i % m] = number<T>(i % m == k + i / m ? 1 : 0);
  for (int j = k - 1; j >= 0; --j) {
    const T t = tau[j];
    for (int r = j + thread; r < m; r += threads) v[r] = r == j ? number<T>(1) : a.column(j)[r];
    __syncthreads();
    reflect(a, v, t, j, m, j + 1, columns, lanes);
    for (int r = thread; r < m; r += threads) {
      const T image = r < j ? number<T>(0) : product_of(t, v[r]);
      a.column(j)[r] = r == j ? number<T>(1) - image : number<T>(0) - image;
    }
    __syncthreads();
  }
  __syncthreads();
}

// The shape of a stack and of the shared memory: the tile, v, tau.
struct BlockQr {
  explicit BlockQr(const DenseSpec& p)
      : m(static_cast<int>(p.m)),
        n(static_cast<int>(p.n)),
        k(std::min(m, n)),
        rank(p.full ? m : k),
        batch(p.batch),
        team(team_for(std::max(n, rank), m)),
        apart(static_cast<int>(rows_apart(m, team.lanes))) {}
  // In 64 bits: asked of matrices of any size.
  template <class T>
  static i64 bytes(const DenseSpec& p) {
    const i64 k = std::min(p.m, p.n), width = std::max(p.n, p.full ? p.m : k);
    return (rows_apart(p.m, team_for(width, p.m).lanes) * width + p.m + k) *
           static_cast<i64>(sizeof(T));
  }
  int m, n, k, rank;
  i64 batch;
  Team team;
  int apart;
};

template <class T>
__global__ void run_block_qr(BlockQr s, const T* a, T* q, T* r, int* info) {
  const BlockTile<T> tile{reinterpret_cast<T*>(block_room), s.apart};
  T *v = tile.column(max(s.n, s.rank)), *tau = v + s.m;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (i64 b = blockIdx.x; b < s.batch; b += gridDim.x) {
    const T* from = a + b * s.m * s.n;
    for (int i = thread; i < s.m * s.n; i += threads) tile.column(i / s.m)[i % s.m] = from[i];
    __syncthreads();
    factor_qr(tile, s.m, s.n, v, tau, s.team.lanes);
    for (int i = thread; i < s.rank * s.n; i += threads) {
      const int row = i % s.rank, c = i / s.rank;
      r[b * s.rank * s.n + i] = row <= c ? tile.column(c)[row] : number<T>(0);
    }
    __syncthreads();
    if (q) {
      form_q(tile, s.m, s.rank, s.k, v, tau, s.team.lanes);
      for (int i = thread; i < s.m * s.rank; i += threads)
        q[b * s.m * s.rank + i] = tile.column(i / s.m)[i % s.m];
    }
    if (thread == 0) info[b] = 0;
    __syncthreads();
  }
}

template <class T>
void block_qr(const BlockQr& s, i64 bytes, const T* a, T* q, T* r, int* info, cudaStream_t stream) {
  run_block_qr<T><<<blocks_for(s.batch, 1), static_cast<unsigned>(s.team.threads),
                    static_cast<std::size_t>(bytes), stream>>>(s, a, q, r, info);
  check_launch("factoring matrices in shared memory");
}

}  // namespace tessera::cuda
