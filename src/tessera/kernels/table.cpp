// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/table.hpp"

namespace tessera {

// Each kernels/<folder>/<name>_cpu.cpp defines its prepare function under this name.
#define KERNEL(name, Spec) Prepared prepare_##name##_cpu(const Spec&, Device);
#include "tessera/kernels/kernels.def"
#undef KERNEL

const KernelTable& cpu_kernels() {
  static const KernelTable table{
#define KERNEL(name, Spec) .name = {prepare_##name##_cpu},
#include "tessera/kernels/kernels.def"
#undef KERNEL
  };
  return table;
}

}  // namespace tessera
