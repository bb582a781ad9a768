// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorted ids as what lies between them: see Note [gaps] of id_wire.hpp, which needs this and nobody
// else.
//   WireForm f = gaps_of(sorted, base, radix, WireKind::gaps);   put_gaps(f, sorted, base, bytes);

#include <bit>

#include "tessera/distributed/wire/bit_reader.hpp"
#include "tessera/distributed/wire/id_wire.hpp"

namespace tessera::dist {

inline constexpr int most_low = 47;                   // bits of a gap that are listed, at most
inline constexpr i64 most_gaps = (i64{1} << 27) - 1;  // what fits into a notice

// The shortest such form; nothing is listed where there is none.
WireForm gaps_of(std::span<const i64> sorted, i64 base, i64 radix, WireKind kind);
void put_gaps(const WireForm& form, std::span<const i64> sorted, i64 base,
              std::span<std::byte> out);
std::vector<i64> take_gaps(const WireForm& form, std::span<const std::byte> bytes, i64 base,
                           i64 radix);

// f(id), ascending.
template <class F>
void each_of_gaps(const WireForm& form, std::span<const std::byte> bytes, i64 base, i64 radix,
                  const F& f) {
  const BitReader bits(bytes);
  const i64 unary = form.listed + form.high, last = base + radix;
  const int listed_bits = form.low;
  const auto ones_of = [&](i64 w) {
    const i64 left = unary - w * 64;
    return left < 64 ? bits.word(w) & ((std::uint64_t{1} << left) - 1) : bits.word(w);
  };
  i64 ones = 0;
  for (i64 w = 0; w * 64 < unary; ++w) ones += std::popcount(ones_of(w));
  if (ones != form.listed) refuse_wire();  // then there are as many zeros as the form says
  i64 id = base - 1, before = 0, low = unary;
  for (i64 w = 0; w * 64 < unary; ++w)
    for (std::uint64_t rest = ones_of(w); rest != 0; rest &= rest - 1) {
      const i64 at_bit = w * 64 + std::countr_zero(rest);
      id += 1 + ((at_bit - before) << listed_bits) + bits.take(low, listed_bits);
      if (id >= last) refuse_wire();
      before = at_bit + 1;
      low += listed_bits;
      f(id);
    }
}

}  // namespace tessera::dist
