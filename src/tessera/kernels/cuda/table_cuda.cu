// SPDX-License-Identifier: Apache-2.0
// The kernel table of the CUDA plug-in: a line of kernels.def is prepare_<name>_cuda here.
#include "tessera/kernels/table.hpp"

namespace tessera {

#define KERNEL(name, Spec) Prepared prepare_##name##_cuda(const Spec&, Device);
#include "tessera/kernels/kernels.def"
#undef KERNEL

const KernelTable& cuda_kernels();  // device/cuda/cuda_device.hpp

const KernelTable& cuda_kernels() {
  static const KernelTable table{
#define KERNEL(name, Spec) .name = {prepare_##name##_cuda},
#include "tessera/kernels/kernels.def"
#undef KERNEL
  };
  return table;
}

}  // namespace tessera
