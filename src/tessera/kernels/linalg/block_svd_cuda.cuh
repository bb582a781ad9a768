// SPDX-License-Identifier: Apache-2.0
#pragma once
// Singular values by one-sided rotations (Hestenes, Jacobi), one block for a matrix in its shared
// memory: columns are turned in pairs until all are orthogonal; their lengths are the values, they
// themselves u, and what was done to them v. A wide matrix is taken as its adjoint. Private to the
// plug-in.
//   block_svd<float>(BlockSvd(spec), BlockSvd::bytes<float>(spec), a, u, s, vh, info, stream);

#include "tessera/kernels/linalg/block_qr_cuda.cuh"

namespace tessera::cuda {

// About ten are needed, twice as many by what is nearly singular; more than this many means that no
// end is in sight.
constexpr int most_sweeps = 60;

template <class R>
constexpr R rounding = std::is_same_v<R, float> ? R(FLT_EPSILON) : R(DBL_EPSILON);

// Columns are scaled so that the largest number is near one. A column so much shorter counts as
// zero: it is less than the rounding of the others, and turning noise takes the most sweeps.
template <class R>
constexpr R nothing = rounding<R> / 4;

// This team's columns x and y become orthogonal, and those of v follow. True: they were not.
template <class T>
__device__ bool turn_pair(T* x, T* y, int m, T* vx, T* vy, int n, Real<T> alike, bool mine,
                          int lanes) {
  using R = Real<T>;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  R xx = 0, yy = 0;
  T xy = number<T>(0);
  for (int r = lane; mine && r < m; r += lanes) {
    xx += square_of(x[r]);
    yy += square_of(y[r]);
    xy = xy + product_of(conjugated(x[r]), y[r]);
  }
  xx = sum_of_team(xx, lanes);
  yy = sum_of_team(yy, lanes);
  xy = sum_of_team(xy, lanes);
  const R long_x = sqrt(xx), long_y = sqrt(yy), both = length_of(xy);
  if (!mine || long_x <= nothing<R> || long_y <= nothing<R> || !(both > alike * long_x * long_y))
    return false;
  const R zeta = (yy - xx) / (R(2) * both);
  const R tangent = copysign(R(1), zeta) / (fabs(zeta) + hypot(R(1), zeta));
  const R cosine = R(1) / sqrt(R(1) + tangent * tangent);
  const R sine = cosine * tangent, bend = sine / (R(1) + cosine);
  const T phase = times(conjugated(xy), R(1) / both);  // with it, xᴴ y is real
  // Written as what is added to a column, which is rounded less the less a pair is turned.
  const auto turn = [&](T* p, T* q, int rows) {
    for (int r = lane; r < rows; r += lanes) {
      const T a = p[r], b = q[r];
      p[r] = a - times(product_of(phase, b) + times(a, bend), sine);
      q[r] = b + times(product_of(conjugated(phase), a) - times(b, bend), sine);
    }
  };
  turn(x, y, m);
  if (vx) turn(vx, vy, n);
  return true;
}

// All pairs once in each sweep, half as many as columns at a time as in a tournament: no column is
// in two pairs of a round. True: they are orthogonal.
template <class T>
__device__ bool turn_columns(const BlockTile<T>& a, int m, int n, const BlockTile<T>& v,
                             int lanes) {
  const int team = static_cast<int>(threadIdx.x) / lanes,
            teams = static_cast<int>(blockDim.x) / lanes, even = n + n % 2, last = even - 1;
  const Real<T> alike = rounding<Real<T>> * sqrt(static_cast<Real<T>>(m));
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    bool turned = false;
    for (int round = 0; round < last; ++round) {
      for (int base = 0; base < even / 2; base += teams) {
        const int pair = base + team;
        const int one = pair == 0 ? last : (round + pair) % last,
                  other = pair == 0 ? round : (round + last - pair) % last;
        const bool mine = pair < even / 2 && one < n && other < n;
        const int x = mine ? min(one, other) : 0, y = mine ? max(one, other) : 0;
        turned |= turn_pair(a.column(x), a.column(y), m, v.at ? v.column(x) : nullptr,
                            v.at ? v.column(y) : nullptr, n, alike, mine, lanes);
      }
      __syncthreads();
    }
    if (!__syncthreads_or(turned)) return true;
  }
  return false;
}

// The shape of a stack and of the shared memory: the tile of u, that of v, a column, tau, lengths
// and places of columns in order, a number for each warp. m >= n: a wide matrix is turned.
struct BlockSvd {
  explicit BlockSvd(const DenseSpec& p)
      : m(static_cast<int>(std::max(p.m, p.n))),
        n(static_cast<int>(std::min(p.m, p.n))),
        width(p.full && p.vectors ? m : n),
        wide(p.m < p.n),
        vectors(p.vectors),
        batch(p.batch),
        team(team_for((n + 1) / 2, m)),
        apart(static_cast<int>(rows_apart(m, team.lanes))),
        v_apart(static_cast<int>(rows_apart(n, team.lanes))) {}
  // In 64 bits: asked of matrices of any size.
  template <class T>
  static i64 bytes(const DenseSpec& p) {
    const i64 m = std::max(p.m, p.n), n = std::min(p.m, p.n);
    const int lanes = team_for((n + 1) / 2, m).lanes;
    const i64 numbers = rows_apart(m, lanes) * (p.full && p.vectors ? m : n) +
                        (p.vectors ? rows_apart(n, lanes) * n + m + n : 0);
    return numbers * static_cast<i64>(sizeof(T)) +
           (n + 8) * static_cast<i64>(sizeof(Real<T>) + sizeof(int));
  }
  int m, n, width;
  bool wide, vectors;
  i64 batch;
  Team team;
  int apart, v_apart;
};

// One matrix of the stack and what becomes of it.
template <class T>
struct BlockSvdRun {
  using R = Real<T>;
  const BlockSvd& s;
  BlockTile<T> a, v;
  T *column, *tau;
  R *lengths, *parts;
  int* places;
  int thread, threads;

  __device__ explicit BlockSvdRun(const BlockSvd& job)
      : s(job),
        a{reinterpret_cast<T*>(block_room), job.apart},
        v{job.vectors ? a.column(job.width) : nullptr, job.v_apart},
        thread(static_cast<int>(threadIdx.x)),
        threads(static_cast<int>(blockDim.x)) {
    column = job.vectors ? v.column(job.n) : a.column(job.width);
    tau = column + (job.vectors ? job.m : 0);
    lengths = reinterpret_cast<R*>(tau + (job.vectors ? job.n : 0));
    parts = lengths + job.n;
    places = reinterpret_cast<int*>(parts + 8);
  }

  // The tile, scaled; returns the exponent taken from it.
  __device__ int load(const T* from) const {
    R most = 0;
    for (int i = thread; i < s.m * s.n; i += threads) {
      most = fmax(most, largest_part(from[i]));
      if (s.wide)
        a.column(i % s.n)[i / s.n] = conjugated(from[i]);
      else
        a.column(i / s.m)[i % s.m] = from[i];
    }
    most = most_of_warp(most);
    if (thread % 32 == 0) parts[thread / 32] = most;
    __syncthreads();
    for (int w = 0; w < threads / 32; ++w) most = fmax(most, parts[w]);
    const int e = exponent_of(most);
    const R scale = ldexp(R(1), -e);
    for (int i = thread; i < s.m * s.n; i += threads) {
      T* x = a.column(i / s.m) + i % s.m;
      *x = times(*x, scale);
    }
    for (int i = thread; s.vectors && i < s.n * s.n; i += threads)
      v.column(i / s.n)[i % s.n] = number<T>(i / s.n == i % s.n ? 1 : 0);
    __syncthreads();
    return e;
  }

  // How long the columns are and which place each has, the longest first. Returns how many are not
  // zero, or -1 where a number is not finite.
  __device__ int put_in_order() const {
    const int lanes = s.team.lanes, team = thread / lanes, teams = threads / lanes;
    for (int base = 0; base < s.n; base += teams) {
      const int c = base + team;
      R sum = 0;
      for (int r = thread % lanes; c < s.n && r < s.m; r += lanes) sum += square_of(a.column(c)[r]);
      sum = sum_of_team(sum, lanes);
      if (c < s.n && thread % lanes == 0) lengths[c] = sqrt(sum);
    }
    __syncthreads();
    for (int c = thread; c < s.n; c += threads) {
      int before = 0;
      for (int other = 0; other < s.n; ++other)
        before += lengths[other] > lengths[c] || (lengths[other] == lengths[c] && other < c);
      places[c] = before;
    }
    __syncthreads();
    int count = 0;
    for (int c = 0; c < s.n; ++c) {
      if (!isfinite(lengths[c])) return -1;
      count += lengths[c] > nothing<R>;
    }
    return count;
  }

  // Where number (row, place) of the tall side stands in u, or in vh of a wide matrix.
  __device__ i64 tall_at(int row, int place) const {
    return s.wide ? static_cast<i64>(row) * s.width + place : static_cast<i64>(place) * s.m + row;
  }
  __device__ T as_stored(const T& x) const { return s.wide ? conjugated(x) : x; }

  __device__ void store_vectors(T* tall, T* square, int count) const {
    for (int i = thread; i < s.m * s.n; i += threads) {
      const int row = i % s.m, c = i / s.m;
      if (places[c] < count)
        tall[tall_at(row, places[c])] = as_stored(times(a.column(c)[row], R(1) / lengths[c]));
    }
    for (int i = thread; i < s.n * s.n; i += threads) {
      const int row = i % s.n, c = i / s.n;
      if (s.wide)
        square[places[c] * s.n + row] = v.column(c)[row];
      else
        square[row * s.n + places[c]] = conjugated(v.column(c)[row]);
    }
    __syncthreads();
    if (count == s.width) return;
    // What is missing is orthogonal to what there is: the rest of its Q.
    for (int i = thread; i < s.m * count; i += threads)
      a.column(i / s.m)[i % s.m] = as_stored(tall[tall_at(i % s.m, i / s.m)]);
    __syncthreads();
    factor_qr(a, s.m, count, column, tau, s.team.lanes);
    form_q(a, s.m, s.width, count, column, tau, s.team.lanes);
    for (int i = thread; i < s.m * (s.width - count); i += threads) {
      const int row = i % s.m, c = count + i / s.m;
      tall[tall_at(row, c)] = as_stored(a.column(c)[row]);
    }
  }
};

template <class T>
__global__ void run_block_svd(BlockSvd s, const T* a, T* u, Real<T>* values, T* vh, int* info) {
  const BlockSvdRun<T> run(s);
  const i64 tall = static_cast<i64>(s.m) * s.width, square = static_cast<i64>(s.n) * s.n;
  for (i64 b = blockIdx.x; b < s.batch; b += gridDim.x) {
    const int e = run.load(a + b * s.m * s.n);
    const bool done = turn_columns(run.a, s.m, s.n, run.v, s.team.lanes);
    const int count = run.put_in_order();
    for (int c = run.thread; c < s.n; c += run.threads)
      values[b * s.n + run.places[c]] = ldexp(run.lengths[c], e);
    if (s.vectors && count >= 0)
      run.store_vectors((s.wide ? vh : u) + b * tall, (s.wide ? u : vh) + b * square, count);
    if (run.thread == 0) info[b] = done && count >= 0 ? 0 : 1;
    __syncthreads();
  }
}

template <class T>
void block_svd(const BlockSvd& s, i64 bytes, const T* a, T* u, Real<T>* values, T* vh, int* info,
               cudaStream_t stream) {
  run_block_svd<T><<<blocks_for(s.batch, 1), static_cast<unsigned>(s.team.threads),
                     static_cast<std::size_t>(bytes), stream>>>(s, a, u, values, vh, info);
  check_launch("finding singular values in shared memory");
}

}  // namespace tessera::cuda
