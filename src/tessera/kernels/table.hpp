// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of one kind of device: a struct with a nullable entry per line of kernels.def. A null
// entry *is* "not available"; there are no stubs. cpu and sim share cpu_kernels(); the CUDA plug-in
// brings its own.
//   const KernelTable& t = compute_device(device).kernels();   if (t.fft.prepare) ...

#include "tessera/kernels/convolve/convolve.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/fft/fft.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/overlap_add/overlap_add.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/scalars/scalars.hpp"
#include "tessera/kernels/scan/scan.hpp"
#include "tessera/kernels/sleep/sleep.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/sparse/sparse.hpp"
#include "tessera/kernels/sweep/sweep.hpp"

namespace tessera {

// Of bitmatmul/bitmatmul.hpp, which only those who multiply bits include.
struct BitMoveSpec;
struct BitMatmulSpec;
struct BitDenseSpec;
// Of linalg/dense.hpp.
struct DenseSpec;
// Of rays/rays.hpp.
struct RaysSpec;

struct KernelTable {
#define KERNEL(name, Spec) Kernel<Spec> name;
#include "tessera/kernels/kernels.def"
#undef KERNEL
};

TESSERA_API const KernelTable& cpu_kernels();

}  // namespace tessera
