// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/normal_pairs.hpp"
#include "tessera/kernels/random/random_cpu.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

// Pairs of the sixteen blocks from two or four words each.
TESSERA_INLINE void fill_pairs(const std::uint32_t (*word)[tile_blocks], double* first,
                               double* second) {
  for (i64 j = 0; j < tile_blocks; ++j)
    quick::normal_pair(
        normal_words(join_words(word[0][j], word[1][j]), join_words(word[2][j], word[3][j])),
        first[j], second[j]);
}
TESSERA_INLINE void fill_pairs(const std::uint32_t (*word)[tile_blocks], float* first,
                               float* second) {
  for (i64 j = 0; j < tile_blocks; ++j)
    quick::normal_pair(normal_words(word[0][j], word[1][j]), first[j], second[j]);
}

}  // namespace

template <class T>
void fill_values(const NormalDraw<T>& draw, const PhiloxTile& blocks, std::uint64_t, T* values) {
  using Draw = NormalDraw<T>;
  wide([&] {
    for (int k = 0; k < Draw::pairs; ++k) {
      alignas(64) typename Draw::F z[2][tile_blocks];
      fill_pairs(blocks.word + 2 * k, z[0], z[1]);
      if constexpr (Draw::complex) {
        for (i64 j = 0; j < tile_blocks; ++j)
          values[k * tile_blocks + j] = draw.scaled(z[0][j], z[1][j]);
      } else {
        for (int half = 0; half < 2; ++half)
          for (i64 j = 0; j < tile_blocks; ++j)
            values[(2 * k + half) * tile_blocks + j] = draw.scaled(z[half][j]);
      }
    }
  });
}

template <class T>
RunFn run_of_normal() {
  return &run_draws<NormalDraw<T>>;
}
template RunFn run_of_normal<Half>();
template RunFn run_of_normal<BFloat16>();
template RunFn run_of_normal<float>();
template RunFn run_of_normal<double>();
template RunFn run_of_normal<c64>();
template RunFn run_of_normal<c128>();

}  // namespace tessera
