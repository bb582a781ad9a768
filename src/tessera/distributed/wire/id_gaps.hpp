// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorted ids as what lies between them: see Note [gaps] of id_codec.hpp, which needs this and
// nobody else.
//   EncodedIds e = encode_gaps(sorted, base, radix);
//   decode_gaps(e.format, e.bytes, base, radix, f);

#include <bit>

#include "tessera/distributed/wire/bit_reader.hpp"
#include "tessera/distributed/wire/id_codec.hpp"

namespace tessera::dist {

inline constexpr int most_low = 47;                   // low bits of a gap, at most
inline constexpr i64 most_gaps = (i64{1} << 27) - 1;  // what fits into a header

// Empty where there are no ids, or more than a header can count.
EncodedIds encode_gaps(std::span<const i64> sorted, i64 base, i64 radix);

// f(id), ascending.
template <class F>
void decode_gaps(const IdFormat& format, std::span<const std::byte> bytes, i64 base, i64 radix,
                 const F& f) {
  const BitReader bits(bytes);
  const int low = format.low;
  const i64 unary = format.listed * low, end = unary + format.listed + format.high,
            last = base + radix;
  const auto ones_of = [&](i64 w) {  // of the unary part, in a word
    std::uint64_t ones = bits.word(w);
    if (w == unary >> 6) ones &= ~std::uint64_t{0} << (unary & 63);
    return end - w * 64 < 64 ? ones & ((std::uint64_t{1} << (end - w * 64)) - 1) : ones;
  };
  i64 ones = 0;
  for (i64 w = unary >> 6; w * 64 < end; ++w) ones += std::popcount(ones_of(w));
  if (ones != format.listed) refuse_ids();  // then there are as many zeros as the format says
  i64 id = base - 1, next = unary, low_bit = 0;
  for (i64 w = unary >> 6; w * 64 < end; ++w)
    for (std::uint64_t rest = ones_of(w); rest != 0; rest &= rest - 1, low_bit += low) {
      const i64 one = w * 64 + std::countr_zero(rest);
      id += 1 + ((one - next) << low) + bits.take(low_bit, low);
      if (id >= last) refuse_ids();
      next = one + 1;
      f(id);
    }
}

}  // namespace tessera::dist
