// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of products by subscripts, "bij,bjk->bik", over any number of operands: pairs are contracted
// in the order that costs least (greedy) as batched matrix products. Strings as NumPy's, with
// "...", implicit output and repeated letters (diagonals).
//   Array y = einsum("cxy,xy->cxy", {s, x});

#include <string_view>

#include "tessera/array/array.hpp"

namespace tessera {

TESSERA_API Array einsum(std::string_view subscripts, std::span<const Array> operands);

}  // namespace tessera
