// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gridding on CUDA without atomics on the grid: a block takes the points of one piece (pieces.cuh),
// adds them to the piece in shared memory, and adds that to the grid when the pieces that overlap it
// and come before it have done so: every run gives the same bits. See Note [classes].
//   gridding_pieces_kernel<c64, 2, 4, 4><<<pieces * batches, threads, bytes>>>(args);

#include "tessera/kernels/interpolate/pieces.cuh"

namespace tessera::cuda {

inline constexpr int piece_threads = 128;  // at most

template <class R>
struct GriddingArgs : PieceArgs<R> {
  int colour_begin[9] = {};   // pieces are taken by colours: even and odd ones along each axis
  int streams = 1, hits = 1;  // hits: points whose weights are made at a time
  int* done = nullptr;  // how many blocks have begun, then for each of them whether it has added
};

// What shared memory holds: rooms, one per stream, then weights of `hits` points.
template <class T, int Dims, int Width>
struct GriddingRoom {
  using R = typename RealOf<T>::type;
  static constexpr int row = (Width + 1) | 1, valued_row = Width + 1;
  static constexpr i64 per_hit =
      static_cast<i64>(sizeof(T)) * valued_row + static_cast<i64>(sizeof(R)) * row * (Dims - 1) + 4;
  static i64 bytes(const PieceCut& cut, int streams, int hits, int threads) {
    return static_cast<i64>(sizeof(T)) * cut.room.cells() * streams + hits * per_hit +
           4 * (hits + threads);
  }
};

#ifdef __CUDACC__

__device__ inline float2 load_uncached(const c64* at) {
  return __ldcg(reinterpret_cast<const float2*>(at));
}
__device__ inline double2 load_uncached(const c128* at) {
  return __ldcg(reinterpret_cast<const double2*>(at));
}

// Where a point's first tap lies in the room, and its place modulo the classes of each axis.
inline constexpr unsigned edge_x = 1u << 29, edge_y = 1u << 30, edge_z = 1u << 31,
                          any_edge = edge_x | edge_y | edge_z;

// Places of pieces in the order in which they are taken, and back.
template <int Dims>
__device__ int colour_length(const PieceCut& cut, int colour, int axis) {
  return (cut.axis[axis].count + 1 - (colour >> axis & 1)) / 2;
}
template <int Dims, class R>
__device__ void piece_of_rank(const GriddingArgs<R>& args, int rank, int (&at)[3]) {
  int colour = 0;
  while (rank >= args.colour_begin[colour + 1]) ++colour;
  int rest = rank - args.colour_begin[colour];
#pragma unroll
  for (int a = 2; a >= 3 - Dims; --a) {
    const int n = colour_length<Dims>(args.cut, colour, a);
    at[a] = rest % n * 2 + (colour >> a & 1);
    rest /= n;
  }
}
template <int Dims, class R>
__device__ int rank_of_piece(const GriddingArgs<R>& args, const int (&at)[3]) {
  int colour = 0, rest = 0;
#pragma unroll
  for (int a = 3 - Dims; a < 3; ++a) colour |= (at[a] & 1) << a;
#pragma unroll
  for (int a = 3 - Dims; a < 3; ++a)
    rest = rest * colour_length<Dims>(args.cut, colour, a) + at[a] / 2;
  return args.colour_begin[colour] + rest;
}

// Note [classes]
// Of W neighbouring cells along an axis exactly one is in each class of cells modulo W. A stream of
// points has a thread for each class of the last axis (of the last two, in three dimensions), and
// `Classes` of them along the first axis, whose Width / Classes taps that thread takes. So every
// thread has a share of every point, no two threads write to one cell, and none waits for another
// between two points. A block has several streams where there is room, each with a room of its own;
// they are summed in order at the end.
template <class T, int Dims, int Width, int Classes>
struct ClassThread {
  using R = typename RealOf<T>::type;
  using Room = GriddingRoom<T, Dims, Width>;
  static constexpr int taps = Width / Classes;
  static constexpr int threads = (Dims == 3 ? Width : 1) * Width * Classes;  // of a stream
  static_assert(taps * Classes == Width);

  struct Step {
    unsigned word;
    int at, kx, ky, k0;
    R re, im, slow[taps];
  };
  int class_x, class_y, class_0;
  int row, deep;  // distance of rows and of cells along the first axis, in elements
  T* room;
  const T* valued;  // weights along x (along y in three dimensions), times the value
  const R* plain;   // along x, in three dimensions
  const R* slow;    // along the first axis
  const unsigned* word;

  __device__ void belongs(int thread) {
    class_x = thread % Width;
    class_y = Dims == 3 ? thread / Width % Width : 0;
    class_0 = thread / (Dims == 3 ? Width * Width : Width);
  }
  __device__ Step step(int p) const {
    Step s;
    s.word = word[p];
    const auto tap = [](int of, unsigned first, int classes) {
      const int k = of - static_cast<int>(first & 15);
      return k < 0 ? k + classes : k;
    };
    s.kx = tap(class_x, s.word >> 16, Width);
    s.ky = Dims == 3 ? tap(class_y, s.word >> 20, Width) : 0;
    s.k0 = tap(class_0, s.word >> 24, Classes);
    s.at = static_cast<int>(s.word & 0xffff) + s.kx + s.ky * row + s.k0 * deep;
    const T v = valued[p * Room::valued_row + (Dims == 3 ? s.ky : s.kx)];
    s.re = v.re;
    s.im = v.im;
    if constexpr (Dims == 3) {
      const R w = plain[p * Room::row + s.kx];
      s.re *= w;
      s.im *= w;
    }
#pragma unroll
    for (int j = 0; j < taps; ++j) s.slow[j] = slow[p * Room::row + s.k0 + j * Classes];
    return s;
  }
  // Taps beyond the width, of points on the grid: they are in the class of the first one.
  __device__ void add_edges(const Step& s, int p) const {
    const bool beyond_x = (s.word & edge_x) != 0 && s.kx == 0,
               beyond_y = (s.word & edge_y) != 0 && s.ky == 0,
               beyond_0 = (s.word & edge_z) != 0 && s.k0 == 0;
    for (int y = 0; y < (beyond_y ? 2 : 1); ++y)
      for (int x = 0; x < (beyond_x ? 2 : 1); ++x) {
        const int kx = x ? Width : s.kx, ky = y ? Width : s.ky;
        T v = valued[p * Room::valued_row + (Dims == 3 ? ky : kx)];
        if constexpr (Dims == 3) {
          const R w = plain[p * Room::row + kx];
          v = T(v.re * w, v.im * w);
        }
        const int at = s.at + kx - s.kx + (ky - s.ky) * row - s.k0 * deep;
        for (int k = x || y ? s.k0 : Width; k <= Width; k += Classes) {
          if (k == Width && !beyond_0) break;
          const R w = slow[p * Room::row + k];
          T& cell = room[at + k * deep];
          cell = T(cell.re + w * v.re, cell.im + w * v.im);
        }
      }
  }
  // Points first, first + step, ...
  __device__ void add(int first, int count, int streams) const {
    if (first >= count) return;
    Step next = step(first);
    for (int p = first; p < count; p += streams) {
      const Step s = next;
      T cell[taps];
#pragma unroll
      for (int j = 0; j < taps; ++j) cell[j] = room[s.at + j * Classes * deep];
      if (p + streams < count) next = step(p + streams);
#pragma unroll
      for (int j = 0; j < taps; ++j)
        room[s.at + j * Classes * deep] =
            T(cell[j].re + s.slow[j] * s.re, cell[j].im + s.slow[j] * s.im);
      if (s.word & any_edge) add_edges(s, p);
    }
  }
};

template <class T, int Dims, int Width, int Classes>
__global__ void __launch_bounds__(piece_threads)
    gridding_pieces_kernel(const __grid_constant__ GriddingArgs<typename RealOf<T>::type> args) {
  using R = typename RealOf<T>::type;
  using Room = GriddingRoom<T, Dims, Width>;
  using Thread = ClassThread<T, Dims, Width, Classes>;
  constexpr int first_axis = 3 - Dims;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ int ticket, warp_hits[piece_threads / 32];

  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x),
            lane = thread % 32, warp = thread / 32;
  // Blocks wait for ones that began before them, so that they never wait for each other.
  if (thread == 0) ticket = atomicAdd(args.done, 1);
  __syncthreads();
  const int rank = ticket % args.cut.pieces, batch = ticket / args.cut.pieces;
  int* const done = args.done + 1 + batch * args.cut.pieces;
  PieceBox<Dims> box;
  piece_of_rank<Dims>(args, rank, box.at);
  box.find(args.cut);

  const int cells = args.cut.room.cells();
  T* room = reinterpret_cast<T*>(shared_bytes);
  T* valued = room + static_cast<i64>(cells) * args.streams;
  R* slow = reinterpret_cast<R*>(valued + args.hits * Room::valued_row);
  R* plain = slow + args.hits * Room::row;  // three dimensions only
  unsigned* word = reinterpret_cast<unsigned*>(plain + (Dims == 3 ? args.hits * Room::row : 0));
  int* list = reinterpret_cast<int*>(word + args.hits);

  const int stream = thread / Thread::threads;
  Thread mine;
  mine.belongs(thread % Thread::threads);
  mine.row = args.cut.room.stride_x;
  mine.deep = Dims == 3 ? mine.row * args.cut.room.cells_y : mine.row;
  mine.room = room + static_cast<i64>(cells) * stream;
  mine.valued = valued;
  mine.plain = plain;
  mine.slow = slow;
  mine.word = word;

  const i64 begin = args.starts[box.tile];
  const int candidates = static_cast<int>(args.starts[box.tile + 1] - begin);
  i64 of_batch[2];
  args.batch.offsets(batch, of_batch);
  const T* from = static_cast<const T*>(args.from) + of_batch[1];
  bool touched = false;
  int waiting = 0;
  for (int base = 0; base < candidates;) {
    int taken = 0;
    if (box.whole) {
      taken = min(candidates - base, args.hits);
      base += taken;
    } else {  // the points of the piece among those of its tile, in order
      while (base < candidates && waiting < args.hits) {
        bool hit = base + thread < candidates;
        if (hit)
#pragma unroll
          for (int a = first_axis; a < 3; ++a) {
            const int at =
                box.local(args.cut, a, args.point.on_axis(a, Dims, begin + base + thread).first);
            hit = hit && at >= 0 && at < box.length[a];
          }
        const unsigned of_warp = __ballot_sync(0xffffffffu, hit);
        if (lane == 0) warp_hits[warp] = __popc(of_warp);
        __syncthreads();
        int before = waiting;
        for (int w = 0; w < threads / 32; ++w) {
          if (w < warp) before += warp_hits[w];
          waiting += warp_hits[w];
        }
        if (hit) list[before + __popc(of_warp & ((1u << lane) - 1))] = base + thread;
        __syncthreads();
        base += threads;
      }
      taken = min(waiting, args.hits);
    }
    if (taken == 0) continue;
    if (!touched)
      for (int c = thread; c < cells * args.streams; c += threads) room[c] = T(0);
    touched = true;

    while (taken > 0) {
      for (int p = thread; p < taken; p += threads) {
        const i64 point = begin + (box.whole ? base - taken + p : list[p]);
        PointOnAxis at[3];
        int local[3] = {0, 0, 0};
        unsigned bits = 0;
#pragma unroll
        for (int a = first_axis; a < 3; ++a) {
          at[a] = args.point.on_axis(a, Dims, point);
          local[a] = box.local(args.cut, a, at[a].first);
        }
        if (at[2].on_grid) bits |= edge_x;
        if (Dims == 3 && at[1].on_grid) bits |= edge_y;
        if (at[first_axis].on_grid) bits |= edge_z;
        const int first = (local[0] * args.cut.room.cells_y + local[1]) * mine.row + local[2];
        bits |= static_cast<unsigned>(first) | static_cast<unsigned>(local[2] % Width) << 16 |
                static_cast<unsigned>(local[first_axis] % Classes) << 24;
        if (Dims == 3) bits |= static_cast<unsigned>(local[1] % Width) << 20;
        word[p] = bits;
        i64 offset[1];
        args.points.offsets(args.order[point], offset);
        const T value = from[offset[0]];

        R w[3][Width + 1], t[3];
#pragma unroll
        for (int a = first_axis; a < 3; ++a) t[a] = static_cast<R>(2 * at[a].fraction - 1);
#pragma unroll
        for (int k = 0; k < Width; ++k)
#pragma unroll
          for (int a = first_axis; a < 3; ++a) w[a][k] = args.point.coefficient[0][k];
        for (int d = 1; d <= args.point.degree; ++d)
#pragma unroll
          for (int k = 0; k < Width; ++k) {
            const R c = args.point.coefficient[d][k];
#pragma unroll
            for (int a = first_axis; a < 3; ++a) w[a][k] = w[a][k] * t[a] + c;
          }
#pragma unroll
        for (int a = first_axis; a < 3; ++a) w[a][Width] = args.point.edge;
#pragma unroll
        for (int k = 0; k <= Width; ++k) {
          const R v = w[Dims == 3 ? 1 : 2][k];
          valued[p * Room::valued_row + k] = T(v * value.re, v * value.im);
          slow[p * Room::row + k] = w[first_axis][k];
          if constexpr (Dims == 3) plain[p * Room::row + k] = w[2][k];
        }
      }
      __syncthreads();
      if (stream < args.streams) mine.add(stream, taken, args.streams);
      if (box.whole) {
        __syncthreads();
        break;
      }
      waiting -= taken;
      const int moved = thread < waiting ? list[taken + thread] : 0;
      __syncthreads();
      if (thread < waiting) list[thread] = moved;
      __syncthreads();
      taken = base >= candidates ? min(waiting, args.hits) : waiting >= args.hits ? args.hits : 0;
    }
  }

  if (touched) {
    int near = 1;
    for (int a = 0; a < Dims; ++a) near *= 3;
    for (int k = thread; k < near; k += threads) {
      int at[3] = {0, 0, 0}, rest = k;
#pragma unroll
      for (int a = 2; a >= first_axis; --a) {
        const int n = args.cut.axis[a].count, there = box.at[a] + rest % 3 - 1;
        at[a] = there < 0 ? there + n : there >= n ? there - n : there;
        rest /= 3;
      }
      const int other = rank_of_piece<Dims>(args, at);
      if (other >= rank) continue;
      while (static_cast<const volatile int*>(done)[other] == 0) __nanosleep(40);
    }
    __threadfence();
    __syncthreads();
    T* to = static_cast<T*>(args.to) + of_batch[0];
    constexpr int together = 32 / static_cast<int>(sizeof(R));  // loads that are under way at once
    for (int first = thread; first < cells; first += threads * together) {
      T sum[together];
      i64 at[together];
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const int c = first + u * threads;
        at[u] = no_element;
        sum[u] = T(0);
        if (c >= cells) continue;
        for (int s = 0; s < args.streams; ++s) {
          const T more = room[static_cast<i64>(cells) * s + c];
          sum[u] = T(sum[u].re + more.re, sum[u].im + more.im);
        }
        if (sum[u].re != R(0) || sum[u].im != R(0))
          at[u] = box.element(args.cut, args.stride, Width, c);
      }
#pragma unroll
      for (int u = 0; u < together; ++u)
        if (at[u] != no_element) {
          const auto before = load_uncached(to + at[u]);
          sum[u] = T(before.x + sum[u].re, before.y + sum[u].im);
        }
#pragma unroll
      for (int u = 0; u < together; ++u)
        if (at[u] != no_element) to[at[u]] = sum[u];
    }
    __threadfence();
    __syncthreads();
  }
  if (thread == 0) {
    __threadfence();  // what the block has written comes before its mark
    *const_cast<volatile int*>(done + rank) = 1;
  }
}

#endif

}  // namespace tessera::cuda
