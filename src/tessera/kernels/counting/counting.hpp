// SPDX-License-Identifier: Apache-2.0
#pragma once
// How often numbers occur, or fall between edges, counted in one pass over host memory. No array for
// what has to be done in another way, or is wrong: the general way says so.
//   if (Array counts = count_numbers(x, nullptr, 0)) return counts;

#include "tessera/array/array.hpp"

namespace tessera {

// NumPy's bincount: how often 0, 1, 2, … occur among some integers, none of them negative, or the
// sums of the float64 weights of each; at least `minlength` of them.
TESSERA_API Array count_numbers(const Array& x, const Array* weights, i64 minlength);

// How many numbers fall into each bin between two of the rising edges, or the sums of their float64
// or int64 weights; the last bin holds its upper edge, too. Edges and numbers of one dtype: float32,
// float64, or int64. `even`: all bins have one width but for rounding, so that a division finds
// them.
TESSERA_API Array count_between(const Array& x, const Array& edges, bool even,
                                const Array* weights);

}  // namespace tessera
