// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inner loop of products of bits on the cpu, one per instruction set: a tile of 4 x 4 counts
// from two packed panels. A panel holds 4 rows; step after step, `lane` words of each row in turn.
// Which one a machine can run is found once, at run time. Private to bitmatmul.
//   bit_tile().count(steps, a, b, sums);   // sums[4 * i + j] = |a_i & b_j|

#include "tessera/base/api.hpp"
#include "tessera/base/scalar.hpp"

namespace tessera {

struct BitTile {
  const char* name;
  i64 lane;  // words of a row per step: 1, 2, 4 or 8
  void (*count)(i64 steps, const std::uint64_t* a, const std::uint64_t* b, std::uint32_t* sums);
};

inline constexpr i64 tile_rows = 4;         // of either panel
inline constexpr i64 most_steps = 1 << 11;  // of one call: the sums of NEON are 16 bits wide

// Null where this machine, or the machine this was compiled for, lacks the instructions.
TESSERA_API const BitTile* bit_tile_neon();
TESSERA_API const BitTile* bit_tile_avx512();
TESSERA_API const BitTile* bit_tile_avx2();
TESSERA_API const BitTile* bit_tile_portable();
const BitTile& bit_tile();  // the best one

}  // namespace tessera
