// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements limited to an interval: both limits in one pass over memory, where two element-wise
// calls would go through it twice.
//   if (const Array y = clip_dense(x, Value(-1.0), Value(1.0))) return y;

#include "tessera/array/array.hpp"

namespace tessera {

// Contiguous arrays of float32 and float64 on the host, with real numbers as limits; no array for
// all others.
TESSERA_API Array clip_dense(const Array& x, const Value& low, const Value& high);

}  // namespace tessera
