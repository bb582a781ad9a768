// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many blocks a launch takes. Kernels loop over the grid, so any count is right; these numbers
// fill the device and stay below CUDA's limits for any 64-bit count.
//   add<<<blocks_for(n, 256), 256, 0, stream_of(launch)>>>(...);

#include <algorithm>

#include "tessera/device/compute_device.hpp"
#include "tessera/device/cuda/check.hpp"

namespace tessera::cuda {

inline constexpr int block_threads = 256;

inline unsigned blocks_for(i64 items, i64 per_block, i64 most = i64{1} << 30) {
  return static_cast<unsigned>(std::clamp<i64>((items + per_block - 1) / per_block, 1, most));
}

inline cudaStream_t stream_of(const Launch& launch) {
  return static_cast<cudaStream_t>(launch.stream);
}

#ifdef __CUDACC__
__device__ inline i64 thread_position() {
  return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline i64 thread_count() { return static_cast<i64>(gridDim.x) * blockDim.x; }
#endif

}  // namespace tessera::cuda
