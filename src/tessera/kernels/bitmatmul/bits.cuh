// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the products of bits on CUDA are made of. Private to the CUDA part of bitmatmul.
//   Prepared p = prepare_bit_move(spec, true);   // pack, keeping the bits that are set

#include <cuda_runtime_api.h>

#include "tessera/kernels/bitmatmul/bitmatmul.hpp"

namespace tessera {

Prepared prepare_bitmove_cuda(const BitMoveSpec& spec, Device device);

namespace cuda {

struct BitCountArgs;

Prepared prepare_bit_move(const BitMoveSpec& spec, bool merge);
Prepared prepare_bit_counts(const BitMatmulSpec& spec, Device device);
// any and closure: counts of panels of rows, packed.
Prepared prepare_bit_paths(const BitMatmulSpec& spec, Device device);
// In bitmatmul_sm90a_cuda.cu, which is compiled for that architecture alone. False where it cannot
// take the operands; nothing is launched then.
bool start_wgmma_counts(const BitCountArgs& args, bool wide, int processors, cudaStream_t stream);

}  // namespace cuda
}  // namespace tessera
