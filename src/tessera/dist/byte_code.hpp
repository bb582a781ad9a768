// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bits that are set at random, eight at a time, as codes whose lengths suit how many are set: about
// as short as anything can be, and quick, since bytes are looked up. Both sides find the same code
// by a number.
//   const ByteCode& code = ByteCode::of(ByteCode::suited(n, bits));   code.encode(bytes, words);

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

class TESSERA_API ByteCode {
 public:
  static constexpr int count = 64;  // codes: number d is for sets of d in 64
  static int suited(i64 set, i64 bits);
  static const ByteCode& of(int number);

  i64 bits(std::span<const std::uint8_t> bytes) const;  // of their codes
  // Into zeroed words, which have room for so many bits.
  void encode(std::span<const std::uint8_t> bytes, std::span<std::uint64_t> words) const;
  // As many bytes as there is room for; behind the `bits` of the stream there are 8 bytes more to
  // be read. False: it was something else than codes of so many.
  bool decode(std::span<std::uint8_t> bytes, const std::byte* stream, i64 bits) const;

 private:
  static constexpr int longest = 12;
  explicit ByteCode(int number);

  struct Code {
    std::uint16_t word = 0;
    std::uint8_t length = 0;
  };
  // What the next bits of a stream begin with: one byte and the length of its code, and the next
  // one where both codes are among them; how many bytes that are, and the bits of both.
  struct Symbols {
    std::uint8_t bytes[2] = {0, 0};
    std::uint8_t first_length = 0;
    std::uint8_t count_and_length = 0;  // count << 4 | length
  };
  std::array<Code, 256> codes_;
  std::array<Symbols, 1 << longest> symbols_;
};

}  // namespace tessera::dist
