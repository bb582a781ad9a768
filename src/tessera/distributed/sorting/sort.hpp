// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorting distributed arrays along an axis, with the results of the local functions
// (kernels/sort/sort.hpp): stable, NaN last, int64 positions, whatever the number of ranks. Along
// any axis but the split one every rank sorts what it has. Along the split axis of a line each
// element travels once, straight to where it belongs; of an array with enough lines whole lines are
// brought together and back. Results lie as x does; the flattened form (no axis) where x does when
// its parts are intervals of it (split along axis 0), else balanced.
//   DNDarray s = dist::sort(x, -1);   DNDarray p = dist::argsort(x, std::nullopt);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API DNDarray sort(const DNDarray& x, std::optional<i64> axis = -1);
TESSERA_API DNDarray argsort(const DNDarray& x, std::optional<i64> axis = -1);

}  // namespace tessera::dist
