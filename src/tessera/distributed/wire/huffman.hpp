// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bits that are set at random, eight at a time, as codes whose lengths suit how many are set: about
// as short as anything can be, and quick, since bytes are looked up. Both sides find the same code
// by a number.
//   const HuffmanCode& code = HuffmanCode::of(HuffmanCode::suited(n, bits));
//   i64 length = code.encode(in, out);

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

class TESSERA_API HuffmanCode {
 public:
  static constexpr int count = 64;  // codes: number d is for sets of d in 64
  static int suited(i64 set, i64 bits);
  static const HuffmanCode& of(int number);

  // Bytes that the codes of so many can need, with what encode() writes behind them.
  static i64 room(i64 bytes) { return (bytes * longest + 7) / 8 + 8; }
  // How many bits the codes are; `out` has room().
  i64 encode(std::span<const std::uint8_t> bytes, std::byte* out) const;
  // As many bytes as there is room for; behind the `bits` of the stream there are 8 bytes more to
  // be read.
  struct Stream {
    const HuffmanCode* code;
    const std::byte* from;
    i64 bits;
    std::span<std::uint8_t> bytes;
  };
  // All of them at once: each look into a stream waits for the one before it, but not for those
  // into others. False: one was something else than codes of so many.
  static bool decode(std::span<const Stream> streams);

 private:
  static constexpr int longest = 12;
  class Reading;
  explicit HuffmanCode(int number);

  struct Code {
    std::uint16_t word = 0;
    std::uint8_t length = 0;
  };
  // What the next bits of a stream begin with: one byte and the length of its code, and the next
  // one where both codes are among them; how many bytes that are, and the bits of all.
  struct Symbols {
    std::uint8_t bytes[2] = {0, 0};
    std::uint8_t count_and_first = 0;  // count << 4 | length of the first
    std::uint8_t length = 0;           // by itself: what the next look waits for
  };
  std::array<Code, 256> codes_;
  std::array<Symbols, 1 << longest> symbols_;
};

}  // namespace tessera::dist
