// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where elements lie among a few bounds, in the order of sort (NaN last, both zeros equal): what is
// needed to count, choose or partition elements by value without sorting them. On the host.
//   Array c = classes(x, bounds);   // u16: 2 k + 1 is bounds[k], 2 k what lies before it

#include "tessera/array/array.hpp"

namespace tessera {

// x is 1-d; `bounds` 1-d, dense, in order, no two equal. ArgumentError for more than 32767 bounds.
TESSERA_API Array classes(const Array& x, const Array& bounds);

// 1-d and in order: without those that equal the one before them in the order of sort (which tells
// NaNs of complex numbers apart). Dense.
TESSERA_API Array without_repeats(const Array& sorted);

}  // namespace tessera
