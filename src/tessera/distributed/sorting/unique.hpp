// SPDX-License-Identifier: Apache-2.0
#pragma once
// The distinct elements of a distributed array in order, as the local unique has them: where each
// occurs first (in the flattened array), which of them every element is, how often each occurs. Of
// NaNs one is kept. Each rank sends its own distinct elements once; no rank sees all of them. The
// results are split along 0 when x is split, and lie where the sorted blocks are: nearly balanced
// when the ranks' distinct elements differ, balance() makes it exact. The inverse has x's shape and
// distributed.
//   dist::Unique u = dist::unique(x);   DNDarray same = u.values[{u.inverse}];

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

struct Unique {
  DNDarray values, index, inverse, counts;  // what was not asked for is an empty handle
};
struct UniqueParts {
  bool index = true, inverse = true, counts = true;
};
TESSERA_API Unique unique(const DNDarray& x, const UniqueParts& parts = {});
// Distinct slices along an axis, in the order of their elements; of an array of one axis its
// elements, as above. In slices NaNs equal nothing, as with NumPy. The values are split along the
// axis, index, inverse and counts along 0, when x is split; the inverse has one entry per slice.
TESSERA_API Unique unique(const DNDarray& x, i64 axis, const UniqueParts& parts = {});

}  // namespace tessera::dist
