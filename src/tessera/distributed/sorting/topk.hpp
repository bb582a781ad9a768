// SPDX-License-Identifier: Apache-2.0
#pragma once
// The k largest or smallest elements along an axis, and where they are. The order is that of sort:
// NaN counts as larger than every number, complex numbers go by their parts; of equal elements the
// one with the lowest index comes first. Largest first, or smallest first. Along the split axis
// each rank sends no more than its own k candidates, and of those only what is in the result; the
// result is distributed evenly along that axis. Along other axes nothing is sent.
//   auto [values, indices] = dist::topk(x, 10);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

struct TopK {
  DNDarray values, indices;  // int64
};
// IndexError for the axis, ArgumentError unless 0 <= k <= the extent of the axis.
TESSERA_API TopK topk(const DNDarray& x, i64 k, i64 axis = -1, bool largest = true);

}  // namespace tessera::dist
