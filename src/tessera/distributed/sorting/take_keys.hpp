// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys that mean what functions such as take, put and take_along_axis mean. Private to them.
//   x[flat_key(x, positions)];   x[along_axis_key(x, indices, axis)];

#include "tessera/distributed/indexing/key.hpp"

namespace tessera::dist {

// One array per axis for positions in the flattened x. IndexError on all ranks for a position
// beyond x.size().
DistIndex flat_key(const DNDarray& x, const DNDarray& positions);

// Counts along every axis but one, indices along that one. ArgumentError unless the ranks agree.
DistIndex along_axis_key(const DNDarray& x, const DNDarray& indices, i64 axis);

// IndexError, with NumPy's text and on all ranks, unless every index lies within [-size, size).
// One byte to every other rank when the indices are distributed, else no message.
void require_inside(const DNDarray& indices, i64 size, i64 axis);

}  // namespace tessera::dist
