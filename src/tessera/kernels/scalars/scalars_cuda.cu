// SPDX-License-Identifier: Apache-2.0
// The cells are brought into shared memory by all threads of one block, one thread runs the program
// there, and all bring them back. The program travels as the kernel's argument.
#include "tessera/kernels/scalars/scalars_cuda.cuh"

namespace tessera {
namespace cuda {
namespace {

struct ScalarsArgs {
  double* cells = nullptr;
  ScalarCode code;
};
static_assert(sizeof(ScalarsArgs) < 4000, "a kernel takes 4 KiB of arguments");

__global__ void __launch_bounds__(max_cells)
    scalars_kernel(const __grid_constant__ ScalarsArgs args) {
  __shared__ double cell[max_cells];
  __shared__ std::uint64_t code[max_scalar_code];
  cell[threadIdx.x] = args.cells[threadIdx.x];
  fetch_code(args.code, code);
  __syncthreads();
  if (threadIdx.x == 0) run_code(code, args.code.count, cell);
  __syncthreads();
  store_cells(args.code, cell, args.cells);
}

void run_scalars(const void* state, const Launch& launch) {
  ScalarsArgs args = *static_cast<const ScalarsArgs*>(state);
  args.cells = static_cast<double*>(launch.operand[0]);
  scalars_kernel<<<1, max_cells, 0, stream_of(launch)>>>(args);
  check_launch("launching a program of scalars");
}

}  // namespace
}  // namespace cuda

Prepared prepare_scalars_cuda(const ScalarsSpec& spec, Device) {
  using namespace cuda;
  check_scalars(spec);
  auto args = std::make_shared<ScalarsArgs>();
  pack_scalars(spec, args->code);
  Prepared p;
  p.flops = static_cast<double>(spec.code.size());
  p.task = {&run_scalars, args};
  return p;
}

}  // namespace tessera
