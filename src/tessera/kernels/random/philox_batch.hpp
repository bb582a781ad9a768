// SPDX-License-Identifier: Apache-2.0
#pragma once
// philox() of neighbouring positions in registers, four side by side. Private to the cpu's kernel.
//   PhiloxBatch<2, 64> words(seed, draw, first, 64);   words.word[1][5];   // of first + 5

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera {

// Both halves of the products of four words with a number.
struct Halves {
  Register<std::uint32_t> high, low;
};
TESSERA_INLINE Halves halves_of_product(Register<std::uint32_t> x, std::uint32_t by) {
#if defined(__aarch64__)
  const uint32x4_t a = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(x), by)),
                   b = vreinterpretq_u32_u64(vmull_high_n_u32(x, by));
  return {vuzp2q_u32(a, b), vuzp1q_u32(a, b)};
#elif defined(__SSE2__)
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

// The first `Words` words of each of Size positions.
template <int Words, i64 Size>
struct PhiloxBatch {
  alignas(64) std::uint32_t word[Words][Size];
  i64 made = 0;  // `count`, rounded up to 16

  PhiloxBatch(std::uint64_t seed, std::uint64_t draw, std::uint64_t first, i64 count) {
    static_assert(Size % (4 * groups) == 0);
    const bool crosses = static_cast<std::uint32_t>(first) > 0xffffffffu - Size;
    for (; made < count; made += 4 * groups)
      crosses ? make_singly(seed, draw, first, made) : make(seed, draw, first, made);
  }

 private:
  static constexpr int groups = 4;  // of registers: their products do not wait for each other
  using Four = Register<std::uint32_t>;

  void make(std::uint64_t seed, std::uint64_t draw, std::uint64_t first, i64 at) {
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    Four c[4][groups];
    for (int g = 0; g < groups; ++g) {
      c[0][g] = Four{0, 1, 2, 3} + static_cast<std::uint32_t>(first + at + 4 * g);
      c[1][g] = in_all_lanes(static_cast<std::uint32_t>(first >> 32));
      c[2][g] = in_all_lanes(static_cast<std::uint32_t>(draw));
      c[3][g] = in_all_lanes(static_cast<std::uint32_t>(draw >> 32));
    }
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
#pragma GCC unroll 4
      for (int g = 0; g < groups; ++g) {
        const Halves a = halves_of_product(c[0][g], 0xD2511F53u),
                     b = halves_of_product(c[2][g], 0xCD9E8D57u);
        c[0][g] = b.high ^ (c[1][g] ^ k0);
        c[1][g] = b.low;
        c[2][g] = a.high ^ (c[3][g] ^ k1);
        c[3][g] = a.low;
      }
    for (int w = 0; w < Words; ++w)
      for (int g = 0; g < groups; ++g) store_register(word[w] + at + 4 * g, c[w][g]);
  }

  // Where the upper half of the position changes.
  void make_singly(std::uint64_t seed, std::uint64_t draw, std::uint64_t first, i64 at) {
    for (i64 i = at; i < at + 4 * groups; ++i) {
      const Philox p = philox(seed, draw, first + static_cast<std::uint64_t>(i));
      for (int w = 0; w < Words; ++w) word[w][i] = p.word[w];
    }
  }
};

}  // namespace tessera
