// SPDX-License-Identifier: Apache-2.0
#pragma once
// philox() of the sixteen neighbouring blocks of a tile, side by side in the widest registers of
// the host. Private to the cpu's kernel.
//   PhiloxTile t;   fill_tile(t, seed, draw, 32);   t.word[1][5];   // of block 37

#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {

struct PhiloxTile {
  alignas(64) std::uint32_t word[4][tile_blocks];

  // That of element i of a tile whose elements take 32 or 64 bits each.
  template <class Word>
  Word word_of(i64 i) const {
    const i64 k = i / tile_blocks, b = i % tile_blocks;
    if constexpr (sizeof(Word) == 4)
      return word[k][b];
    else
      return join_words(word[2 * k][b], word[2 * k + 1][b]);
  }
};

// `first`: a multiple of tile_blocks, so that the upper half of the counter is the same for all.
void fill_tile(PhiloxTile& tile, std::uint64_t seed, std::uint64_t draw, std::uint64_t first);

}  // namespace tessera
