// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts of common bits on any GPU: by the tensor cores of compute capability 8.x and 9.x
// (mma.sync of 16 x 8 counts over 256 bits), or by popcounts of words. Needs nothing of the
// library.
//   if (!launch_mma_counts<std::int32_t>(args, stream)) launch_popcounts<std::int32_t>(args,
//   stream);

#include <cuda_runtime.h>

#include <cstdint>

namespace tessera::cuda {

struct BitCountArgs {  // strides in elements of each operand
  const std::uint64_t *a = nullptr, *b = nullptr;
  void* out = nullptr;
  std::int64_t m = 0, n = 0, words = 0, batch = 1;  // words of k in a row
  std::int64_t a_row = 0, b_row = 0, out_row = 0, out_column = 1;
  std::int64_t a_batch = 0, b_batch = 0, out_batch = 0;
  bool upper = false;  // strictly upper triangular operands
  bool add = false;    // to what out holds
};

namespace mma {

constexpr int tile = 128, tile_bytes = 64, threads = 256, stages = 4;  // bytes of k: 512 bits
constexpr int half_bytes = tile * tile_bytes, stage_bytes = 2 * half_bytes;
constexpr int shared_bytes = stages * stage_bytes;

// Bytes of chunk c (16 bytes) of row r in a stage: turned so that 8 rows lie in different banks.
__device__ inline int chunk_at(int r, int c) { return r * tile_bytes + ((c ^ (r >> 1)) & 3) * 16; }

__device__ inline std::uint32_t address_of(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// Rows [first, first + 128) of x, one block of k; rows that are not there become zero.
__device__ inline void fetch(std::uint8_t* to, const std::uint64_t* x, std::int64_t row_step,
                             std::int64_t rows, std::int64_t first, std::int64_t k) {
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < tile * 4 / threads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads, r = at / 4, c = at % 4;
    const bool live = first + r < rows;
    const std::uint64_t* from = x + (live ? (first + r) * row_step + k * 8 + c * 2 : 0);
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address_of(to + chunk_at(r, c))),
        "l"(from), "r"(live ? 16 : 0)
        : "memory");
  }
#endif
}

__device__ inline void load_matrices(std::uint32_t (&x)[4], const std::uint8_t* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address_of(from)));
#endif
}

__device__ inline void multiply(int (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// One block of k: 64 x 32 counts of this warp.
__device__ inline void multiply_stage(int (&d)[4][4][4], const std::uint8_t* stage, int row,
                                      int column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int s = 0; s < 2; ++s) {  // 256 bits each: two chunks of 16 bytes
    std::uint32_t a[4][4], b[2][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)  // rows 0-7, 8-15 of the first chunk, then of the second
      load_matrices(a[i], stage + chunk_at(row + 16 * i + lane % 16, 2 * s + lane / 16));
#pragma unroll
    for (int j = 0; j < 2; ++j)  // columns 0-7 of both chunks, then columns 8-15
      load_matrices(b[j],
                    stage + half_bytes +
                        chunk_at(column + 16 * j + lane / 16 * 8 + lane % 8, 2 * s + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        multiply(d[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

template <class T>
__device__ inline void put(const BitCountArgs& g, T* out, std::int64_t i, std::int64_t j, int x) {
  if (i >= g.m || j >= g.n) return;
  T& to = out[i * g.out_row + j * g.out_column];
  to = g.add ? to + x : x;
}

template <class T>
__global__ void __launch_bounds__(threads)
    count_kernel(const BitCountArgs g, std::int64_t tiles_m, std::int64_t tiles_n) {
  extern __shared__ __align__(128) std::uint8_t ring[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 4 * 64,
            column = warp % 4 * 32;
  for (std::int64_t t = blockIdx.x; t < tiles_m * tiles_n * g.batch; t += gridDim.x) {
    const std::int64_t item = t / (tiles_m * tiles_n), rest = t % (tiles_m * tiles_n);
    const std::int64_t i0 = rest % tiles_m * tile, j0 = rest / tiles_m * tile;
    const std::uint64_t *a = g.a + item * g.a_batch, *b = g.b + item * g.b_batch;
    std::int64_t k0 = 0, k1 = g.words / 8;
    if (g.upper) {  // row i has bits after i only, column j before j only
      k0 = min(k1, (i0 + 1) / (8 * tile_bytes));
      k1 = max(k0, min(k1, (j0 + tile - 1) / (8 * tile_bytes) + 1));
    }
    int d[4][4][4] = {};
    const auto ask = [&](std::int64_t k) {
      std::uint8_t* to = ring + (k - k0) % stages * stage_bytes;
      if (k < k1) {
        fetch(to, a, g.a_row, g.m, i0, k);
        fetch(to + half_bytes, b, g.b_row, g.n, j0, k);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int s = 0; s < stages - 1; ++s) ask(k0 + s);
    for (std::int64_t k = k0; k < k1; ++k) {
      asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
      __syncthreads();
      ask(k + stages - 1);
      multiply_stage(d, ring + (k - k0) % stages * stage_bytes, row, column);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    T* out = static_cast<T*>(g.out) + item * g.out_batch;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int x = 0; x < 4; ++x)
          put(g, out, i0 + row + 16 * i + lane / 4 + x / 2 * 8,
              j0 + column + 8 * j + lane % 4 * 2 + x % 2, d[i][j][x]);
  }
}

constexpr int pop_tile = 32, pop_words = 16;

// 16 x 16 threads, 2 x 2 counts each, words in shared memory.
template <class T>
__global__ void __launch_bounds__(256)
    popcount_kernel(const BitCountArgs g, std::int64_t tiles_m, std::int64_t tiles_n) {
  __shared__ std::uint64_t left[pop_words][pop_tile + 1], right[pop_words][pop_tile + 1];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (std::int64_t t = blockIdx.x; t < tiles_m * tiles_n * g.batch; t += gridDim.x) {
    const std::int64_t item = t / (tiles_m * tiles_n), rest = t % (tiles_m * tiles_n);
    const std::int64_t i0 = rest % tiles_m * pop_tile, j0 = rest / tiles_m * pop_tile;
    const std::uint64_t *a = g.a + item * g.a_batch, *b = g.b + item * g.b_batch;
    std::int64_t w0 = 0, w1 = g.words;
    if (g.upper) {
      w0 = min(w1, (i0 + 1) / (64 * pop_words) * pop_words);
      w1 = max(w0, min(w1, (j0 + pop_tile - 1) / 64 + 1));
    }
    std::int64_t d[2][2] = {};
    for (std::int64_t w = w0; w < w1; w += pop_words) {
      for (int r = y; r < pop_tile; r += 16) {
        left[x][r] = i0 + r < g.m && w + x < w1 ? a[(i0 + r) * g.a_row + w + x] : 0;
        right[x][r] = j0 + r < g.n && w + x < w1 ? b[(j0 + r) * g.b_row + w + x] : 0;
      }
      __syncthreads();
#pragma unroll
      for (int s = 0; s < pop_words; ++s)
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int j = 0; j < 2; ++j)
            d[i][j] += __popcll(left[s][y + 16 * i] & right[s][x + 16 * j]);
      __syncthreads();
    }
    T* out = static_cast<T*>(g.out) + item * g.out_batch;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const std::int64_t r = i0 + y + 16 * i, c = j0 + x + 16 * j;
        if (r >= g.m || c >= g.n) continue;
        T& to = out[r * g.out_row + c * g.out_column];
        to = static_cast<T>(g.add ? to + d[i][j] : d[i][j]);
      }
  }
}

inline unsigned grid_of(std::int64_t tiles) {
  return static_cast<unsigned>(tiles < (std::int64_t{1} << 30) ? tiles : std::int64_t{1} << 30);
}

}  // namespace mma

// False where rows do not lie on whole 16 bytes; nothing is launched then.
template <class T>
bool launch_mma_counts(const BitCountArgs& g, cudaStream_t stream) {
  using namespace mma;
  for (const std::uint64_t* p : {g.a, g.b})
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) return false;
  for (std::int64_t step : {g.a_row, g.b_row, g.a_batch, g.b_batch})
    if (step % 2 != 0) return false;
  if (cudaFuncSetAttribute(count_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           shared_bytes) != cudaSuccess)
    return false;
  const std::int64_t down = (g.m + tile - 1) / tile, across = (g.n + tile - 1) / tile;
  count_kernel<T>
      <<<grid_of(down * across * g.batch), threads, shared_bytes, stream>>>(g, down, across);
  return true;
}

template <class T>
void launch_popcounts(const BitCountArgs& g, cudaStream_t stream) {
  using namespace mma;
  const std::int64_t down = (g.m + pop_tile - 1) / pop_tile,
                     across = (g.n + pop_tile - 1) / pop_tile;
  popcount_kernel<T><<<grid_of(down * across * g.batch), 256, 0, stream>>>(g, down, across);
}

}  // namespace tessera::cuda
