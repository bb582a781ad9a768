// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of selected numbers by permutations of registers: a register holds the sums of all subsets
// of four numbers, and one permutation looks up those of sixteen rows of bits. Private to
// bitmatmul.
//   if (const BitSums* s = bit_sums_avx512()) s->add(words, apart, bits, rows, in, sums);

#include "tessera/base/api.hpp"
#include "tessera/base/scalar.hpp"

namespace tessera {

inline constexpr i64 sums_columns = 8, sums_rows = 16;  // of one tile of sums
inline constexpr i64 sums_words = 2;                    // of a row of bits, at most, in one call

struct BitSums {
  // Row r of bits is bits[r + w * apart], w < words; row k of in has sums_columns numbers. Sum
  // (r, c) is at sums[(r / 16 * sums_columns + c) * 16 + r % 16], with rows rounded up to 32.
  void (*add)(i64 words, i64 apart, const std::uint64_t* bits, i64 rows, const float* in,
              float* sums);
};

// Null where this machine, or the machine this was compiled for, lacks the instructions.
TESSERA_API const BitSums* bit_sums_avx512();

}  // namespace tessera
