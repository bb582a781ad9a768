// SPDX-License-Identifier: Apache-2.0
// The cells are brought into shared memory by all threads of one block, one thread runs the program
// there, and all bring them back. The program travels as the kernel's argument.
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/scalars/scalars.hpp"

namespace tessera {
namespace cuda {
namespace {

struct ScalarsArgs {
  double* cells = nullptr;
  int count = 0;
  bool mirrored = false;
  ScalarStep code[max_scalar_code];
};
static_assert(sizeof(ScalarsArgs) < 4000, "a kernel takes 4 KiB of arguments");

__global__ void __launch_bounds__(max_cells)
    scalars_kernel(const __grid_constant__ ScalarsArgs args) {
  __shared__ double cell[max_cells];
  __shared__ bool written[max_cells];
  const int i = static_cast<int>(threadIdx.x);
  cell[i] = args.cells[i];
  written[i] = false;
  __syncthreads();
  if (i == 0)
    for (int k = 0; k < args.count; ++k) {
      const ScalarStep s = args.code[k];
      scalar_step(s, cell);
      if (s.op != ScalarOp::put) written[s.to] = true;
    }
  __syncthreads();
  args.cells[i] = cell[i];
  if (args.mirrored && written[i])
    reinterpret_cast<float*>(args.cells + max_cells)[i] = static_cast<float>(cell[i]);
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
  args->count = static_cast<int>(spec.code.size());
  args->mirrored = spec.mirror != DType::f64;
  std::copy(spec.code.begin(), spec.code.end(), args->code);
  Prepared p;
  p.flops = static_cast<double>(spec.code.size());
  p.task = {&run_scalars, args};
  return p;
}

}  // namespace tessera
