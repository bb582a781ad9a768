// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts of common bits on the tensor cores of compute capability 9.0: wgmma of 64 x 256 counts
// over 256 bits, operands in shared memory, brought there by the copy engine (TMA). Needs nothing
// of the library: raw pointers in, one launch out; compiled for sm_90a only.
//   launch_wgmma_counts<std::int32_t>(operands, device_processors, stream);
//
// Note [roles]: of the three groups of four warps in a block one copies, two multiply. A ring of
// stages stands between them: `full` says that a stage has arrived, `empty` that both multipliers
// have read it. Two blocks form a cluster that computes 256 x 256 counts: each fetches its own
// rows of a and half the rows of b, which the copy engine writes into both.

#include <cuda.h>

#include "tessera/kernels/bitmatmul/mma.cuh"

namespace tessera::cuda {

namespace wgmma {

constexpr int tile_m = 128, tile_n = 256, tile_bytes = 128;  // of k: 1024 bits
constexpr int stages = 4, multipliers = 2, threads = 128 * (1 + multipliers);
constexpr int bytes_a = tile_m * tile_bytes, bytes_b = tile_n * tile_bytes;
constexpr int stage_bytes = bytes_a + bytes_b;
constexpr int shared_bytes = stages * stage_bytes + 1024 + 256;  // alignment, barriers
constexpr int cluster = 2, group_m = 8;  // clusters side by side that share columns

struct Args {
  CUtensorMap a, b;
  void* out;
  std::int64_t m, n, out_row, out_column, out_batch;
  std::int64_t tiles_m, tiles_n, tiles;  // of clusters; in all
  std::int32_t blocks_k;
  std::int32_t batch_a, batch_b;  // 0 where one matrix serves all
  bool upper, add;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void barrier_init(std::uint32_t bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count));
}
__device__ inline void barrier_expect(std::uint32_t bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
               : "memory");
}
__device__ inline void barrier_wait(std::uint32_t bar, int parity) {
  asm volatile(
      "{.reg .pred p;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done: }" ::"r"(bar),
      "r"(parity)
      : "memory");
}
// Of the block `rank` of the cluster.
__device__ inline void barrier_arrive(std::uint32_t bar, int rank) {
  asm volatile(
      "{.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}" ::"r"(bar),
      "r"(rank)
      : "memory");
}
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ inline int cluster_rank() {
  int r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}

__device__ inline void fetch(std::uint32_t to, const CUtensorMap* map, std::uint32_t bar, int x,
                             int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
      "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z)
      : "memory");
}
__device__ inline void fetch_for_all(std::uint32_t to, const CUtensorMap* map, std::uint32_t bar,
                                     int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z),
      "h"(static_cast<std::uint16_t>((1 << cluster) - 1))
      : "memory");
}

// Rows of 128 bytes, swizzled in blocks of 8 rows.
__device__ inline std::uint64_t descriptor(std::uint32_t address) {
  return static_cast<std::uint64_t>((address & 0x3ffff) >> 4) | std::uint64_t{1} << 16 |
         std::uint64_t{1024 >> 4} << 32 | std::uint64_t{1} << 62;
}

__device__ inline void multiply(int (&d)[128], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k256.s32.b1.b1.and.popc {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127}, %128, %129, p;}"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),
        "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),
        "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]),
        "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]),
        "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]),
        "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]),
        "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]),
        "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]),
        "+r"(d[63]), "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]),
        "+r"(d[70]), "+r"(d[71]), "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]),
        "+r"(d[77]), "+r"(d[78]), "+r"(d[79]), "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]),
        "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]), "+r"(d[88]), "+r"(d[89]), "+r"(d[90]),
        "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]), "+r"(d[96]), "+r"(d[97]),
        "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]),
        "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]),
        "+r"(d[110]), "+r"(d[111]), "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]),
        "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]), "+r"(d[120]), "+r"(d[121]),
        "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])
      : "l"(a), "l"(b), "r"(add));
}

// Where tile t lies: columns outside, groups of rows inside, so that the blocks that run together
// share rows and columns.
struct Place {
  int batch, row, column, k0, k1;  // k in blocks
};
__device__ inline Place place_of(const Args& g, std::int64_t t) {
  const std::int64_t each = g.tiles_m * g.tiles_n, inside = t % each;
  const std::int64_t group = inside / (group_m * g.tiles_n), first = group * group_m;
  const std::int64_t high = min(static_cast<std::int64_t>(group_m), g.tiles_m - first);
  const std::int64_t rest = inside - first * g.tiles_n;
  Place p;
  p.batch = static_cast<int>(t / each);
  p.row = static_cast<int>((first + rest % high) * (cluster * tile_m));
  p.column = static_cast<int>(rest / high * tile_n);
  p.k0 = 0;
  p.k1 = g.blocks_k;
  if (g.upper) {  // row i has bits after i only, column j before j only
    p.k0 = min(g.blocks_k, (p.row + 1) / (8 * tile_bytes));
    p.k1 = max(p.k0, min(g.blocks_k, (p.column + tile_n - 1) / (8 * tile_bytes) + 1));
  }
  return p;
}

__device__ inline void copy_tiles(const Args& g, std::uint32_t ring, std::uint32_t full,
                                  std::uint32_t empty) {
  const int rank = cluster_rank();
  int stage = 0, phase = 0;
  for (std::int64_t t = blockIdx.x / cluster; t < g.tiles; t += gridDim.x / cluster) {
    const Place p = place_of(g, t);
    const int row = p.row + rank * tile_m, column = p.column + rank * (tile_n / cluster);
    for (int k = p.k0; k < p.k1; ++k) {
      barrier_wait(empty + 8 * stage, phase ^ 1);
      const std::uint32_t bar = full + 8 * stage, to = ring + stage * stage_bytes;
      barrier_expect(bar, stage_bytes);
      fetch(to, &g.a, bar, k * tile_bytes, row, p.batch * g.batch_a);
      fetch_for_all(to + bytes_a + rank * (bytes_b / cluster), &g.b, bar, k * tile_bytes, column,
                    p.batch * g.batch_b);
      if (++stage == stages) stage = 0, phase ^= 1;
    }
  }
}

template <class T>
__device__ inline void store_counts(const Args& g, const Place& p, int row, const int (&d)[128]) {
  const int lane = threadIdx.x % 32;
  T* out = static_cast<T*>(g.out) + p.batch * g.out_batch;
  const bool pairs = sizeof(T) == 4 && !g.add && g.out_column == 1 && g.out_row % 2 == 0 &&
                     reinterpret_cast<std::uintptr_t>(out) % 8 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t i = row + lane / 4 + 8 * half;
    if (i >= g.m) continue;
    T* line = out + i * g.out_row;
#pragma unroll
    for (int c = 0; c < 32; ++c) {
      const std::int64_t j = p.column + 8 * c + lane % 4 * 2;
      const int x = d[4 * c + 2 * half], y = d[4 * c + 2 * half + 1];
      if (pairs && j + 1 < g.n) {
        *reinterpret_cast<int2*>(line + j) = make_int2(x, y);
        continue;
      }
      T* to = line + j * g.out_column;
      if (j < g.n) *to = g.add ? *to + x : x;
      to += g.out_column;
      if (j + 1 < g.n) *to = g.add ? *to + y : y;
    }
  }
}

template <class T>
__device__ inline void multiply_tiles(const Args& g, std::uint32_t ring, std::uint32_t full,
                                      std::uint32_t empty, int group) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, rank = cluster_rank();
  const auto release = [&](int stage) {
    if (lane < cluster) barrier_arrive(empty + 8 * stage, lane);
  };
  int stage = 0, phase = 0;
  for (std::int64_t t = blockIdx.x / cluster; t < g.tiles; t += gridDim.x / cluster) {
    const Place p = place_of(g, t);
    int d[128];
#pragma unroll
    for (int& x : d) x = 0;
    int before = -1;
    for (int k = p.k0; k < p.k1; ++k) {
      barrier_wait(full + 8 * stage, phase);
      const std::uint32_t at = ring + stage * stage_bytes;
      const std::uint64_t a = descriptor(at + group * (64 * tile_bytes)),
                          b = descriptor(at + bytes_a);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int s = 0; s < tile_bytes / 32; ++s) multiply(d, a + 2 * s, b + 2 * s, 1);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (before >= 0) release(before);
      before = stage;
      if (++stage == stages) stage = 0, phase ^= 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (before >= 0) release(before);
    store_counts<T>(g, p, p.row + rank * tile_m + group * 64 + warp * 16, d);
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class T>
__global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1)
    count_kernel(const __grid_constant__ Args g) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ std::uint8_t memory[];
  const std::uint32_t ring = (shared_address(memory) + 1023) / 1024 * 1024,
                      full = ring + stages * stage_bytes, empty = full + 8 * stages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      barrier_init(full + 8 * s, 1);
      barrier_init(empty + 8 * s, 4 * multipliers * cluster);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  const int role = static_cast<int>(threadIdx.x) / 128;
  if (role == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) copy_tiles(g, ring, full, empty);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    multiply_tiles<T>(g, ring, full, empty, role - 1);
  }
  __syncwarp();
  cluster_sync();  // no block ends while another may still write into its memory
#endif
}

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// Whether the copy engine takes an operand: whole 16 bytes everywhere.
inline bool takes(const void* p, std::int64_t row, std::int64_t batch) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && row > 0 && row % 2 == 0 && batch >= 0 &&
         batch % 2 == 0;
}

inline bool describe(CUtensorMap* map, EncodeTiled encode, const std::uint64_t* p,
                     std::int64_t words, std::int64_t rows, std::int64_t row, std::int64_t batch,
                     std::int64_t step, int box_rows) {
  using U = cuuint64_t;
  const U sizes[3] = {static_cast<U>(words * 8), static_cast<U>(rows),
                      static_cast<U>(step == 0 ? 1 : batch)};
  const U strides[2] = {static_cast<U>(row * 8),
                        static_cast<U>((step == 0 ? row * rows : step) * 8)};
  const cuuint32_t box[3] = {tile_bytes, static_cast<cuuint32_t>(box_rows), 1}, each[3] = {1, 1, 1};
  return encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<std::uint64_t*>(p), sizes,
                strides, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace wgmma

// False where the copy engine cannot read the operands; nothing is launched then. `encode` is
// cuTensorMapEncodeTiled of the driver. At most 2^31 - 1 terms are counted.
template <class T>
bool launch_wgmma_counts(const BitCountArgs& c, wgmma::EncodeTiled encode, int processors,
                         cudaStream_t stream) {
  using namespace wgmma;
  if (!takes(c.a, c.a_row, c.a_batch) || !takes(c.b, c.b_row, c.b_batch)) return false;
  Args g{};
  if (!describe(&g.a, encode, c.a, c.words, c.m, c.a_row, c.batch, c.a_batch, tile_m) ||
      !describe(&g.b, encode, c.b, c.words, c.n, c.b_row, c.batch, c.b_batch, tile_n / cluster))
    return false;
  g.out = c.out;
  g.m = c.m;
  g.n = c.n;
  g.out_row = c.out_row;
  g.out_column = c.out_column;
  g.out_batch = c.out_batch;
  g.tiles_m = (c.m + cluster * tile_m - 1) / (cluster * tile_m);
  g.tiles_n = (c.n + tile_n - 1) / tile_n;
  g.tiles = g.tiles_m * g.tiles_n * c.batch;
  g.blocks_k = static_cast<std::int32_t>((c.words * 8 + tile_bytes - 1) / tile_bytes);
  g.batch_a = c.a_batch != 0;
  g.batch_b = c.b_batch != 0;
  g.upper = c.upper;
  g.add = c.add;
  if (cudaFuncSetAttribute(count_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           shared_bytes) != cudaSuccess)
    return false;
  const std::int64_t blocks = g.tiles < processors / cluster ? g.tiles : processors / cluster;
  count_kernel<T><<<static_cast<unsigned>(blocks * cluster), threads, shared_bytes, stream>>>(g);
  return true;
}

}  // namespace tessera::cuda
