// SPDX-License-Identifier: Apache-2.0
#pragma once
// How sorted, distinct ids (ids.hpp) of one owner travel: relative to the first that it owns,
// in the shortest of several encodings, and the eight bytes that announce them. What arrives is
// checked: CommError where it cannot be what encode() made. Nothing is sent here.
//   EncodedIds e = encode(sorted, base, radix);   decode(e.format, e.bytes, base, radix) == sorted
//
// Note [gaps]: what lies between an id and the next is split into its `low` lowest bits, listed one
// after the other, and what is left, in unary behind them: as many zeros, then a one. Of n ids that
// lie anywhere among `radix`, that is a few per cent more than log2 of the ways to choose them, but
// where half of them or more are chosen a bitmap is shorter.
//
// Note [huffman]: gaps would be as short for a quarter or an eighth of the ids, which a key that
// lies anywhere asks of each of four or eight owners, but they are read and written one by one, and
// the bytes of a bitmap are looked up in tables: x[key] = scalar with a distributed key of 100 000
// positions takes 148 and 159 us of each rank's processor with this code on 4 and 8 ranks, 292 and
// 218 without it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/distributed/wire/id_set.hpp"

namespace tessera::dist {

enum class Encoding : std::uint8_t {
  numbers,   // of the fewest whole bytes that hold `radix`
  runs,      // first, length less one
  bitmap,    // a bit for each id that there is
  gaps,      // see the note
  huffman,   // the bitmap, byte by byte in a code that suits how many are set (huffman.hpp)
  positions  // numbers, but not ids: the sender's positions on the split axis (requests.hpp)
};
// What a receiver has to know before the bytes come.
struct TESSERA_API IdFormat {
  Encoding kind = Encoding::numbers;
  int low = 0;     // gaps: low bits of each; huffman: the number of the code
  i64 listed = 0;  // ids or runs
  i64 high = 0;    // gaps: zeros of the unary part; huffman: bits of the codes
  bool empty() const { return kind == Encoding::numbers && listed == 0; }
  bool detailed() const {  // low and high say something
    return kind == Encoding::gaps || kind == Encoding::huffman;
  }
  i64 bytes(i64 radix) const;  // 0 for positions
};
struct EncodedIds {
  IdFormat format;
  std::vector<std::byte> bytes;
};

TESSERA_API i64 bytes_of_number(i64 radix);  // 1, 2, 4 or 8
// No encoding is longer than the shortest of numbers, runs and bitmap.
TESSERA_API i64 most_encoded_bytes(i64 ids, i64 radix);
TESSERA_API i64 longest_encoding(i64 radix);  // whatever the ids
TESSERA_API EncodedIds encode(std::span<const i64> sorted, i64 base, i64 radix);
TESSERA_API EncodedIds encode(const IdSet& set);
// Absolute ids again, sorted.
TESSERA_API std::vector<i64> decode(const IdFormat& format, std::span<const std::byte> bytes,
                                    i64 base, i64 radix);
// Those of several senders, combined with what is in the set.
TESSERA_API void decode_into(IdSet& set, std::span<const IdFormat> formats,
                             std::span<const std::vector<std::byte>> bytes);

// CommError: what another rank sent cannot be read.
[[noreturn]] void refuse_ids();

// Announces encoded ids, and whether the sender has a problem.
struct TESSERA_API Header {
  std::uint64_t word = 0;
  static Header of(const IdFormat& format, bool problem);
  bool problem() const { return (word & 1) != 0; }
  IdFormat format() const;
};

// Numbers of `width` bytes, lowest byte first.
TESSERA_API void put_numbers(std::span<const i64> numbers, i64 width, std::byte* out);
TESSERA_API void take_numbers(const std::byte* in, i64 width, std::span<i64> numbers);

}  // namespace tessera::dist
