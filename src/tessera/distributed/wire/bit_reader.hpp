// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bits out of bytes that came from elsewhere, as whole words: what BitWriter wrote.
//   BitReader in(bytes);   i64 five = in.take(0, 3);

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : words_(bytes.size() / 8 + 2) {
    copy_bytes(words_.data(), bytes.data(), bytes.size());
  }
  std::uint64_t word(i64 w) const { return words_[to_index(w)]; }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(words_.data()); }
  i64 take(i64 bit, int count) const {  // at most 57: with those before them, one word
    std::uint64_t value = 0;
    std::memcpy(&value, bytes() + (bit >> 3), 8);
    return static_cast<i64>(value >> (bit & 7) & ((std::uint64_t{1} << count) - 1));
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace tessera::dist
