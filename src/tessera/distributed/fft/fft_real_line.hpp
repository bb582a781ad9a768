// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of real lines by those of half as many complex points: see Note [real lines].
// What fft_line.cpp needs and nobody else.
//   untangle_real(z, -1);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// z: the m points of the transform of complex numbers that are two reals each, and room for one
// more; becomes the m + 1 points of the transform of the reals. Of rank 1, dense and split.
void untangle_real(const DNDarray& z, int sign);

// Columns of the matrix, of `wide` columns, of the m points whose transform is a real line of 2 m,
// two by two: from the columns X[k] of the m + 1 points of its transform, of which `first` is the
// first, and from X[m - k], given in the opposite order of rows and of columns. Local; both may be
// written to.
Array tangle_real(const Array& points, const Array& images, i64 first, i64 wide, int sign);

}  // namespace tessera::dist
