// SPDX-License-Identifier: Apache-2.0
#pragma once
// The largest element less the smallest (NumPy's ptp of a whole array), in one pass over memory.
//   if (const Array y = spread_dense(x)) return y;

#include "tessera/array/array.hpp"

namespace tessera {

// Of dense integers, float32 or float64 on the host, at least one; no array for all others.
TESSERA_API Array spread_dense(const Array& x);

}  // namespace tessera
