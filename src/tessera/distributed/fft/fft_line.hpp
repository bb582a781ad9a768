// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transform of a distributed array of rank 1 along its split axis: see Note [four steps]. What
// fft.hpp needs and nobody else.
//   DNDarray y = transform_line(x, FftKind::complex, -1, 1.0, x.shape(0));

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/fft/fft.hpp"

namespace tessera::dist {

// scale * DFT of `points` points of x, which is cut or padded with zeros as the local functions do;
// of rank 1 and split. Balanced.
DNDarray transform_line(const DNDarray& x, FftKind kind, int sign, double scale, i64 points);

}  // namespace tessera::dist
