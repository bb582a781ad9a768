// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole public face in one include.
//   #include <tessera/tessera.hpp>
//   using namespace tessera;   Array y = (FFT(2) * Diagonal(w, dims("NxNy")))(x);

#include "tessera/array/index.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/device/topology.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/einsum/einsum.hpp"
#include "tessera/linop/algebra.hpp"
#include "tessera/linop/ops/array_to_blocks.hpp"
#include "tessera/linop/ops/convolution.hpp"
#include "tessera/linop/ops/dense.hpp"
#include "tessera/linop/ops/diagonal.hpp"
#include "tessera/linop/ops/fft.hpp"
#include "tessera/linop/ops/fft_convolution.hpp"
#include "tessera/linop/ops/identity.hpp"
#include "tessera/linop/ops/interpolate.hpp"
#include "tessera/linop/ops/sampling.hpp"
#include "tessera/linop/ops/scalar.hpp"
#include "tessera/linop/ops/sparse.hpp"
#include "tessera/linop/ops/wavelet.hpp"
#include "tessera/linop/ops/zero.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/solve/cg.hpp"
