// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where values would be inserted to keep a sorted array in order, as the local searchsorted
// (NumPy's side="left", or "right"). The result has the shape and the distribution of `values`,
// int64. A sorted array that every rank holds is searched without a message. One that is
// distributed shows the last value of each block to all ranks; then each distinct value goes to the
// one rank that can answer, and the answer comes back. Whether the array is sorted is not checked.
//   DNDarray bins = dist::searchsorted(edges, x, /*right=*/true);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// ShapeError unless `sorted` has one dimension; DeviceError, CommError as for every two operands.
TESSERA_API DNDarray searchsorted(const DNDarray& sorted, const DNDarray& values,
                                  bool right = false);

}  // namespace tessera::dist
