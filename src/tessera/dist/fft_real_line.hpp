// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transform of a real line from that of half as many complex points: see Note [real lines].
// What fft_line.cpp needs and nobody else.
//   untangle_real(z, -1);

#include "tessera/dist/dnd_array.hpp"

namespace tessera::dist {

// z: the m points of the transform of complex numbers that are two reals each, and room for one
// more; becomes the m + 1 points of the transform of the reals. Of rank 1, dense and split.
void untangle_real(const DNDarray& z, int sign);

}  // namespace tessera::dist
