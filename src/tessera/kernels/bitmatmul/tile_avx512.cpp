// SPDX-License-Identifier: Apache-2.0
// AVX-512 with VPOPCNTDQ: 512 bits of a row per step, sums in 64-bit lanes, 16 registers of sums.
#include "tessera/kernels/bitmatmul/tile.hpp"

#ifdef __x86_64__
#include <immintrin.h>

namespace tessera {
namespace {

#define TESSERA_AVX512 __attribute__((target("avx512f,avx512vpopcntdq")))

// Halves of two registers, added: half as many numbers of each, side by side.
TESSERA_AVX512 inline __m512i folded(__m512i a, __m512i b) {
  return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

// The sums of eight registers, in order. Folding pairs takes a third of the work of adding up each
// register by itself, which shows: a tile is only as many steps long as a panel.
TESSERA_AVX512 inline void add_up(const __m512i* t, std::uint32_t* sums) {
  __m512i pairs[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    pairs[i] = _mm512_add_epi64(_mm512_unpacklo_epi64(t[2 * i], t[2 * i + 1]),
                                _mm512_unpackhi_epi64(t[2 * i], t[2 * i + 1]));
  const __m512i all = folded(folded(pairs[0], pairs[1]), folded(pairs[2], pairs[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), _mm512_cvtepi64_epi32(all));
}

TESSERA_AVX512 void count(i64 steps, const std::uint64_t* a, const std::uint64_t* b,
                          std::uint32_t* sums) {
  __m512i total[16];
#pragma GCC unroll 16
  for (auto& t : total) t = _mm512_setzero_si512();
  for (i64 s = 0; s < steps; ++s, a += 32, b += 32) {
    __m512i right[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) right[j] = _mm512_loadu_si512(b + 8 * j);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i left = _mm512_loadu_si512(a + 8 * i);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j)
        total[4 * i + j] = _mm512_add_epi64(total[4 * i + j],
                                            _mm512_popcnt_epi64(_mm512_and_si512(left, right[j])));
    }
  }
  add_up(total, sums);
  add_up(total + 8, sums + 8);
}

}  // namespace

const BitTile* bit_tile_avx512() {
  static const BitTile tile{"avx512", 8, &count};
  static const bool runs =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq");
  return runs ? &tile : nullptr;
}

}  // namespace tessera
#else
namespace tessera {
const BitTile* bit_tile_avx512() { return nullptr; }
}  // namespace tessera
#endif
