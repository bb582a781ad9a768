// SPDX-License-Identifier: Apache-2.0
// Copies that exchange axes: square tiles go through shared memory, so that both sides are read and
// written along their own dense axis.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {
namespace {

constexpr int tile = 32, tile_rows = 8;

template <class T>
__global__ void __launch_bounds__(tile* tile_rows)
    tile_kernel(const __grid_constant__ TileArgs args) {
  __shared__ T kept[tile][tile + 1];
  const i64 across = (args.x_size + tile - 1) / tile, down = (args.y_size + tile - 1) / tile;
  const i64 tiles = across * down * args.rest.count;
  const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const i64 slice = t / (across * down), place = t - slice * (across * down);
    const i64 y0 = place / across * tile, x0 = (place - place / across * across) * tile;
    i64 at[4];
    args.rest.offsets(slice, at);
    const T* in = static_cast<const T*>(args.in) + at[0];
    T* out = static_cast<T*>(args.out) + at[3];
#pragma unroll
    for (int k = row; k < tile; k += tile_rows)
      if (x0 + k < args.x_size && y0 + lane < args.y_size)
        kept[k][lane] = in[(x0 + k) * args.in_step + y0 + lane];
    __syncthreads();
#pragma unroll
    for (int k = row; k < tile; k += tile_rows)
      if (x0 + lane < args.x_size && y0 + k < args.y_size)
        out[(y0 + k) * args.out_step + x0 + lane] = kept[lane][k];
    __syncthreads();
  }
}

template <class T>
void launch_tile(const TileArgs& args, cudaStream_t stream) {
  const i64 tiles = ((args.x_size + tile - 1) / tile) * ((args.y_size + tile - 1) / tile);
  tile_kernel<T>
      <<<blocks_for(tiles * args.rest.count, 1), dim3(tile, tile_rows), 0, stream>>>(args);
  check_launch("launching a copy by tiles");
}

}  // namespace

TileLaunch find_tile(i64 element_bytes) {
  switch (element_bytes) {
    case 1: return &launch_tile<std::uint8_t>;
    case 2: return &launch_tile<std::uint16_t>;
    case 4: return &launch_tile<std::uint32_t>;
    case 8: return &launch_tile<std::uint64_t>;
    default: return &launch_tile<ulonglong2>;
  }
}

}  // namespace tessera::cuda
