// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a device gets its kernels from without knowing them: the kernels layer defines these
// functions, the devices only pass the reference on. Not for callers: use
// compute_device(kind).kernels().
//   const KernelTable& CpuDevice::kernels() const { return cpu_kernels(); }

#include "tessera/base/api.hpp"

namespace tessera {

struct KernelTable;                            // kernels/table.hpp
TESSERA_API const KernelTable& cpu_kernels();  // kernels/table.cpp; the sim devices run them too

}  // namespace tessera
