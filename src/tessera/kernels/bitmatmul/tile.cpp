// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/bitmatmul/tile.hpp"

#include <bit>

namespace tessera {
namespace {

void count(i64 steps, const std::uint64_t* a, const std::uint64_t* b, std::uint32_t* sums) {
  std::uint32_t total[16] = {};
  for (i64 s = 0; s < steps; ++s, a += 4, b += 4)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        total[4 * i + j] += static_cast<std::uint32_t>(std::popcount(a[i] & b[j]));
  for (int t = 0; t < 16; ++t) sums[t] = total[t];
}

}  // namespace

const BitTile* bit_tile_portable() {
  static const BitTile tile{"portable", 1, &count};
  return &tile;
}

const BitTile& bit_tile() {
  static const BitTile& best = []() -> const BitTile& {
    for (const BitTile* t : {bit_tile_avx512(), bit_tile_avx2(), bit_tile_neon()})
      if (t != nullptr) return *t;
    return *bit_tile_portable();
  }();
  return best;
}

}  // namespace tessera
