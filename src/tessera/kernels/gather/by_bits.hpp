// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[mask] = number for a mask of bits, 64 in a word, lowest first: as sets of positions are kept
// and travel.
//   if (!assign_by_bits(x, words, Array::of(3.0))) ...   // a mask of truth values then

#include <cstdint>
#include <span>

#include "tessera/array/array.hpp"

namespace tessera {

// True where x is a dense line on the host. Elsewhere nothing is done, since truth values are as
// good there.
TESSERA_API bool assign_by_bits(const Array& x, std::span<const std::uint64_t> bits,
                                const Array& value);

}  // namespace tessera
