// SPDX-License-Identifier: Apache-2.0
// AVX-512: two tiles of sums, 32 rows by 8 columns, stay in 16 registers. For four rows of numbers
// and one column, a permutation and an addition do the work of 64 multiplications and additions,
// four times that of a fused one.
#include "tessera/kernels/bitmatmul/sums.hpp"

#ifdef __x86_64__
// g++ 12 takes what its own header leaves undefined on purpose for a fault of ours.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

namespace tessera {
namespace {

#define TESSERA_AVX512 __attribute__((target("avx512f")))
constexpr i64 quads = sums_words * 16;  // of four bits each

// Number x of a table is the sum of those of four numbers, `apart` from each other, that the bits
// of x select.
TESSERA_AVX512 inline __m512 table_of(const float* in, i64 apart) {
  __m512 t = _mm512_maskz_mov_ps(0xaaaa, _mm512_set1_ps(in[0]));
  t = _mm512_mask_add_ps(t, 0xcccc, t, _mm512_set1_ps(in[apart]));
  t = _mm512_mask_add_ps(t, 0xf0f0, t, _mm512_set1_ps(in[2 * apart]));
  return _mm512_mask_add_ps(t, 0xff00, t, _mm512_set1_ps(in[3 * apart]));
}

// 32 bits of each of 16 rows, from bit `first` of their words; rows from `rows` on are not read.
TESSERA_AVX512 inline __m512i bits_of_rows(const std::uint64_t* words, i64 rows, unsigned first) {
  const auto half = [&](i64 from) TESSERA_AVX512 {
    const i64 count = rows - from < 0 ? 0 : rows - from > 8 ? 8 : rows - from;
    const __mmask8 mask = static_cast<__mmask8>((1u << count) - 1);
    return _mm512_cvtepi64_epi32(
        _mm512_srli_epi64(_mm512_maskz_loadu_epi64(mask, words + from), first));
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(8), 1);
}

TESSERA_AVX512 void add(i64 words, i64 apart, const std::uint64_t* bits, i64 rows, const float* in,
                        float* sums) {
  alignas(64) float tables[quads * sums_columns * 16];
  for (i64 q = 0; q < words * 16; ++q)
    for (i64 c = 0; c < sums_columns; ++c)
      _mm512_store_ps(tables + (q * sums_columns + c) * 16,
                      table_of(in + 4 * q * sums_columns + c, sums_columns));
  for (i64 r = 0; r < rows; r += 2 * sums_rows, sums += 2 * sums_rows * sums_columns) {
    __m512 upper[sums_columns], lower[sums_columns];
#pragma GCC unroll 8
    for (int c = 0; c < sums_columns; ++c) {
      upper[c] = _mm512_loadu_ps(sums + c * 16);
      lower[c] = _mm512_loadu_ps(sums + (sums_columns + c) * 16);
    }
    const float* table = tables;
    for (i64 half = 0; half < 2 * words; ++half) {
      const std::uint64_t* from = bits + half / 2 * apart + r;
      const unsigned first = half % 2 == 0 ? 0 : 32;
      __m512i above = bits_of_rows(from, rows - r, first),
              below = bits_of_rows(from + sums_rows, rows - r - sums_rows, first);
      for (int q = 0; q < 8; ++q, table += sums_columns * 16) {
#pragma GCC unroll 8
        for (int c = 0; c < sums_columns; ++c) {
          const __m512 t = _mm512_load_ps(table + c * 16);
          upper[c] = _mm512_add_ps(upper[c], _mm512_permutexvar_ps(above, t));
          lower[c] = _mm512_add_ps(lower[c], _mm512_permutexvar_ps(below, t));
        }
        above = _mm512_srli_epi32(above, 4);  // a permutation reads the lowest four bits
        below = _mm512_srli_epi32(below, 4);
      }
    }
#pragma GCC unroll 8
    for (int c = 0; c < sums_columns; ++c) {
      _mm512_storeu_ps(sums + c * 16, upper[c]);
      _mm512_storeu_ps(sums + (sums_columns + c) * 16, lower[c]);
    }
  }
}

}  // namespace

const BitSums* bit_sums_avx512() {
  static const BitSums all{&add};
  static const bool runs = __builtin_cpu_supports("avx512f");
  return runs ? &all : nullptr;
}

}  // namespace tessera
#else
namespace tessera {
const BitSums* bit_sums_avx512() { return nullptr; }
}  // namespace tessera
#endif
