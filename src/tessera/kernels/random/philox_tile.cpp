// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/philox_tile.hpp"

#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tessera/kernels/register.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t multiplier_0 = 0xD2511F53u, multiplier_1 = 0xCD9E8D57u;
constexpr std::uint32_t step_0 = 0x9E3779B9u, step_1 = 0xBB67AE85u;
constexpr int rounds = 10;

// Both halves of the products of four words with a number.
struct Halves {
  Register<std::uint32_t> high, low;
};
TESSERA_INLINE Halves halves_of_product(Register<std::uint32_t> x, std::uint32_t by) {
#if defined(__aarch64__)
  const uint32x4_t a = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(x), by)),
                   b = vreinterpretq_u32_u64(vmull_high_n_u32(x, by));
  return {vuzp2q_u32(a, b), vuzp1q_u32(a, b)};
#elif defined(__x86_64__)
  const __m128i v = reinterpret_cast<__m128i>(x), m = _mm_set1_epi64x(by),
                first = _mm_set1_epi64x(0xffffffff);
  const __m128i even = _mm_mul_epu32(v, m), odd = _mm_mul_epu32(_mm_srli_epi64(v, 32), m);
  return {reinterpret_cast<Register<std::uint32_t>>(
              _mm_or_si128(_mm_srli_epi64(even, 32), _mm_andnot_si128(first, odd))),
          reinterpret_cast<Register<std::uint32_t>>(
              _mm_or_si128(_mm_and_si128(even, first), _mm_slli_epi64(odd, 32)))};
#else
  Halves h;
  for (int l = 0; l < 4; ++l) {
    const std::uint64_t p = std::uint64_t{by} * x[l];
    h.high[l] = static_cast<std::uint32_t>(p >> 32);
    h.low[l] = static_cast<std::uint32_t>(p);
  }
  return h;
#endif
}

// Registers of four: the products of one do not wait for those of another.
void fill_tile_base(PhiloxTile& tile, std::uint64_t seed, std::uint64_t draw, std::uint64_t first) {
  using Four = Register<std::uint32_t>;
  constexpr int groups = tile_blocks / 4;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  Four c[4][groups];
  for (int g = 0; g < groups; ++g) {
    c[0][g] =
        Four{0, 1, 2, 3} + static_cast<std::uint32_t>(first + 4 * static_cast<std::uint64_t>(g));
    c[1][g] = in_all_lanes(static_cast<std::uint32_t>(first >> 32));
    c[2][g] = in_all_lanes(static_cast<std::uint32_t>(draw));
    c[3][g] = in_all_lanes(static_cast<std::uint32_t>(draw >> 32));
  }
#pragma GCC unroll 10
  for (int round = 0; round < rounds; ++round, k0 += step_0, k1 += step_1)
#pragma GCC unroll 4
    for (int g = 0; g < groups; ++g) {
      const Halves a = halves_of_product(c[0][g], multiplier_0),
                   b = halves_of_product(c[2][g], multiplier_1);
      c[0][g] = b.high ^ (c[1][g] ^ k0);
      c[1][g] = b.low;
      c[2][g] = a.high ^ (c[3][g] ^ k1);
      c[3][g] = a.low;
    }
  for (int w = 0; w < 4; ++w)
    for (int g = 0; g < groups; ++g) store_register(tile.word[w] + 4 * g, c[w][g]);
}

#if defined(__x86_64__)

// A word in each lane of 64 bits, whose upper half is whatever an operation leaves there: products
// read lower halves alone. The even blocks of a group are in one register, the odd ones in another,
// so that a shift and a choice put them side by side.
[[gnu::target("avx2")]] void fill_tile_avx2(PhiloxTile& tile, std::uint64_t seed,
                                            std::uint64_t draw, std::uint64_t first) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  const __m256i m0 = _mm256_set1_epi64x(multiplier_0), m1 = _mm256_set1_epi64x(multiplier_1);
  __m256i c[4][4];
  for (int g = 0; g < 4; ++g) {
    const i64 at = 8 * (g / 2) + g % 2;
    c[0][g] = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<i64>(first) + at),
                               _mm256_set_epi64x(6, 4, 2, 0));
    c[1][g] = _mm256_set1_epi64x(static_cast<i64>(first >> 32));
    c[2][g] = _mm256_set1_epi64x(static_cast<i64>(draw));
    c[3][g] = _mm256_set1_epi64x(static_cast<i64>(draw >> 32));
  }
#pragma GCC unroll 10
  for (int round = 0; round < rounds; ++round, k0 += step_0, k1 += step_1) {
    const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      const __m256i a = _mm256_mul_epu32(c[0][g], m0), b = _mm256_mul_epu32(c[2][g], m1);
      c[0][g] = _mm256_srli_epi64(b, 32) ^ (c[1][g] ^ key0);
      c[1][g] = b;
      c[2][g] = _mm256_srli_epi64(a, 32) ^ (c[3][g] ^ key1);
      c[3][g] = a;
    }
  }
  for (int w = 0; w < 4; ++w)
    for (int g = 0; g < 4; g += 2)
      _mm256_store_si256(reinterpret_cast<__m256i*>(tile.word[w] + 4 * g),
                         _mm256_blend_epi32(c[w][g], _mm256_slli_epi64(c[w][g + 1], 32), 0xaa));
}

// Compilers' own operators but for the product: g++ 12 warns of what its headers leave undefined.
[[gnu::target("avx512f")]] void fill_tile_avx512(PhiloxTile& tile, std::uint64_t seed,
                                                 std::uint64_t draw, std::uint64_t first) {
  typedef std::uint64_t Eight __attribute__((vector_size(64)));
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  const Eight m0 = Eight{} + multiplier_0, m1 = Eight{} + multiplier_1;
  Eight c[4][2];
  for (std::uint64_t g = 0; g < 2; ++g) {
    c[0][g] = Eight{0, 2, 4, 6, 8, 10, 12, 14} + (first + g);
    c[1][g] = Eight{} + (first >> 32);
    c[2][g] = Eight{} + draw;
    c[3][g] = Eight{} + (draw >> 32);
  }
#pragma GCC unroll 10
  for (int round = 0; round < rounds; ++round, k0 += step_0, k1 += step_1)
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      const auto a = reinterpret_cast<Eight>(_mm512_maskz_mul_epu32(
                     0xff, reinterpret_cast<__m512i>(c[0][g]), reinterpret_cast<__m512i>(m0))),
                 b = reinterpret_cast<Eight>(_mm512_maskz_mul_epu32(
                     0xff, reinterpret_cast<__m512i>(c[2][g]), reinterpret_cast<__m512i>(m1)));
      c[0][g] = (b >> 32) ^ c[1][g] ^ k0;
      c[1][g] = b;
      c[2][g] = (a >> 32) ^ c[3][g] ^ k1;
      c[3][g] = a;
    }
  for (int w = 0; w < 4; ++w) {
    const Eight both = (c[w][0] & 0xffffffff) | c[w][1] << 32;
    std::memcpy(tile.word[w], &both, sizeof(both));
  }
}

#endif

}  // namespace

void fill_tile(PhiloxTile& tile, std::uint64_t seed, std::uint64_t draw, std::uint64_t first) {
#if defined(__x86_64__)
  switch (host_instructions()) {
    case Instructions::avx512: return fill_tile_avx512(tile, seed, draw, first);
    case Instructions::avx2: return fill_tile_avx2(tile, seed, draw, first);
    case Instructions::base: break;
  }
#endif
  fill_tile_base(tile, seed, draw, first);
}

}  // namespace tessera
