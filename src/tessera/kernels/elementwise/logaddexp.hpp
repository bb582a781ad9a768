// SPDX-License-Identifier: Apache-2.0
#pragma once
// log(exp(a) + exp(b)) without overflow between, in one pass over memory, where element-wise calls
// would make seven.
//   if (const Array y = logaddexp_dense(a, b)) return y;

#include "tessera/array/array.hpp"

namespace tessera {

// Arrays of one floating dtype on the host, of one shape or one of them a number (of size one, and
// no more axes than the other); no array for all others. `of_two`: powers of two and their logarithm.
// Narrow numbers are worked out in float32.
TESSERA_API Array logaddexp_dense(const Array& a, const Array& b, bool of_two = false);

}  // namespace tessera
