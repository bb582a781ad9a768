// SPDX-License-Identifier: Apache-2.0
#pragma once
// Truth values of a byte each as bits, lowest first, and back; eight at a time. The last byte is
// filled up with zeros.
//   bits_of_bools(mask, 10, bits);   bools_of_bits(bits, 10, mask);

#include <bit>
#include <cstdint>
#include <cstring>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

inline void bits_of_bools(const bool* from, i64 n, std::uint8_t* to) {
  static_assert(std::endian::native == std::endian::little);
  i64 i = 0;
  for (; i + 8 <= n; i += 8) {  // each byte's one goes to its place in the highest byte
    std::uint64_t word = 0;
    std::memcpy(&word, from + i, sizeof word);
    to[i >> 3] = static_cast<std::uint8_t>(word * 0x0102040810204080U >> 56);
  }
  if (i < n) to[i >> 3] = 0;
  for (; i < n; ++i) to[i >> 3] |= static_cast<std::uint8_t>(from[i] ? 1U << (i & 7) : 0U);
}

inline void bools_of_bits(const std::uint8_t* from, i64 n, bool* to) {
  i64 i = 0;
  for (; i + 8 <= n; i += 8) {  // a copy for each byte, of which it keeps its own bit
    const std::uint64_t own = from[i >> 3] * 0x0101010101010101U & 0x8040201008040201U;
    const std::uint64_t word = (own + 0x7f7f7f7f7f7f7f7fU) >> 7 & 0x0101010101010101U;
    std::memcpy(to + i, &word, sizeof word);
  }
  for (; i < n; ++i) to[i] = (from[i >> 3] >> (i & 7) & 1) != 0;
}

}  // namespace tessera::dist
