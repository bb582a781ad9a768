// SPDX-License-Identifier: Apache-2.0
#pragma once
// What Combine means for two runs of numbers, as NumPy has it: minima and maxima keep NaNs, complex
// numbers compare by real, then imaginary part, sums of bools are or, integers wrap, half types
// compute in float.
//   combine(mine, theirs, n, DType::f32, Combine::sum);   // mine = mine + theirs

#include "tessera/comm/transport.hpp"

namespace tessera {

// into[k] = into[k] op with[k]: `with` is the later operand.
TESSERA_API void combine(void* into, const void* with, i64 count, DType dtype, Combine op);

}  // namespace tessera
