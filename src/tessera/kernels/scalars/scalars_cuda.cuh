// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of scalars inside of CUDA kernels: packed so that a step is one load, run by one thread of
// a block over cells in shared memory.
//   pack_scalars(spec, args.code);   fetch_code(args.code, code);   run_code(code, args.code.count, cell);

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/scalars/scalars.hpp"

namespace tessera::cuda {

struct ScalarCode {
  int count = 0;
  bool mirrored = false;
  std::uint32_t written[max_cells / 32] = {};  // bits: cells that get a mirror
  std::uint64_t step[max_scalar_code];
};

inline void pack_scalars(const ScalarsSpec& spec, ScalarCode& code) {
  code.count = static_cast<int>(spec.code.size());
  code.mirrored = spec.mirror != DType::f64;
  for (std::size_t k = 0; k < spec.code.size(); ++k) {
    const ScalarStep& s = spec.code[k];
    code.step[k] = static_cast<std::uint64_t>(s.op) | std::uint64_t{s.to} << 8 |
                   std::uint64_t{s.a} << 16 | std::uint64_t{s.b} << 24 | std::uint64_t{s.c} << 32;
    if (s.op != ScalarOp::put) code.written[s.to / 32] |= std::uint32_t{1} << s.to % 32;
  }
}

#ifdef __CUDACC__

static_assert(max_cells == block_threads, "a thread for each cell");

// By all threads of the block: from the kernel's arguments, where each load would be waited for.
__device__ inline void fetch_code(const ScalarCode& code, std::uint64_t* here) {
  for (int k = static_cast<int>(threadIdx.x); k < code.count; k += block_threads)
    here[k] = code.step[k];
}

// By one thread.
__device__ inline void run_code(const std::uint64_t* code, int count, double* cell) {
#pragma unroll 1
  for (int k = 0; k < count; ++k) {
    const std::uint64_t word = code[k];
    scalar_step({static_cast<ScalarOp>(word & 0xff), static_cast<std::uint8_t>(word >> 8),
                 static_cast<std::uint8_t>(word >> 16), static_cast<std::uint8_t>(word >> 24),
                 static_cast<std::uint8_t>(word >> 32)},
                cell);
  }
}

// By all threads of the block: to where the cells and their mirror are.
__device__ inline void store_cells(const ScalarCode& code, const double* cell, double* cells) {
  const unsigned i = threadIdx.x;
  cells[i] = cell[i];
  if (code.mirrored && (code.written[i / 32] >> i % 32 & 1) != 0)
    reinterpret_cast<float*>(cells + max_cells)[i] = static_cast<float>(cell[i]);
}

#endif

}  // namespace tessera::cuda
