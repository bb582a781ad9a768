// SPDX-License-Identifier: Apache-2.0
// AVX2: bits are counted by looking up half bytes. A tile of 4 x 4 is made of 4 x 2 halves, whose
// sums, operands and table fit the 16 registers. A byte holds the bits of 31 steps.
#include "tessera/kernels/bitmatmul/tile.hpp"

#ifdef __x86_64__
#include <immintrin.h>

namespace tessera {
namespace {

#define TESSERA_AVX2 __attribute__((target("avx2")))
constexpr i64 byte_steps = 31;

TESSERA_AVX2 inline __m256i bits_of_bytes(__m256i v, __m256i table, __m256i low) {
  const __m256i small = _mm256_shuffle_epi8(table, _mm256_and_si256(v, low));
  const __m256i large = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), low));
  return _mm256_add_epi8(small, large);
}

TESSERA_AVX2 inline std::uint32_t total(__m256i v) {
  const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
}

TESSERA_AVX2 inline __m256i load(const std::uint64_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// Columns `first` and `first + 1` of the tile.
TESSERA_AVX2 void count_half(i64 steps, const std::uint64_t* a, const std::uint64_t* b, int first,
                             std::uint32_t* sums) {
  const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                         0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
  __m256i wide[8];
  for (auto& w : wide) w = zero;
  while (steps > 0) {
    const i64 n = steps < byte_steps ? steps : byte_steps;
    steps -= n;
    __m256i bytes[8];
#pragma GCC unroll 8
    for (auto& v : bytes) v = zero;
    for (i64 s = 0; s < n; ++s, a += 16, b += 16) {
      const __m256i r0 = load(b + 4 * first), r1 = load(b + 4 * first + 4);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const __m256i left = load(a + 4 * i);
        bytes[2 * i] =
            _mm256_add_epi8(bytes[2 * i], bits_of_bytes(_mm256_and_si256(left, r0), table, low));
        bytes[2 * i + 1] = _mm256_add_epi8(bytes[2 * i + 1],
                                           bits_of_bytes(_mm256_and_si256(left, r1), table, low));
      }
    }
    for (int t = 0; t < 8; ++t)
      wide[t] = _mm256_add_epi64(wide[t], _mm256_sad_epu8(bytes[t], zero));
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) sums[4 * i + first + j] = total(wide[2 * i + j]);
}

void count(i64 steps, const std::uint64_t* a, const std::uint64_t* b, std::uint32_t* sums) {
  count_half(steps, a, b, 0, sums);
  count_half(steps, a, b, 2, sums);
}

}  // namespace

const BitTile* bit_tile_avx2() {
  static const BitTile tile{"avx2", 4, &count};
  static const bool runs = __builtin_cpu_supports("avx2");
  return runs ? &tile : nullptr;
}

}  // namespace tessera
#else
namespace tessera {
const BitTile* bit_tile_avx2() { return nullptr; }
}  // namespace tessera
#endif
