// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cumulative sums and products of distributed arrays along one axis, with the dtypes and errors of
// the local function; the result is distributed as x is. Along the split axis each rank scans its
// block, and the totals of the blocks before it, joined in the order of the ranks, are put in
// front: one entry of the axis per rank travels. Along other axes nothing does. Integers do not
// depend on the number of ranks; floats are rounded, and may overflow, as their blocks do.
//   DNDarray c = dist::cumsum(x, 0);

#include <optional>

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/scan/scan.hpp"

namespace tessera::dist {

// No axis: over the flattened array (distributed/functions/reshape.hpp says how that is
// distributed).
TESSERA_API DNDarray scan(ScanOp op, const DNDarray& x, std::optional<i64> axis,
                          std::optional<DType> dtype = {});
inline DNDarray cumsum(const DNDarray& x, std::optional<i64> axis = {},
                       std::optional<DType> dtype = {}) {
  return scan(ScanOp::sum, x, axis, dtype);
}
inline DNDarray cumprod(const DNDarray& x, std::optional<i64> axis = {},
                        std::optional<DType> dtype = {}) {
  return scan(ScanOp::prod, x, axis, dtype);
}

}  // namespace tessera::dist
