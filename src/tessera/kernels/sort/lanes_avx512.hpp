// SPDX-License-Identifier: Apache-2.0
#pragma once
// The registers of AVX-512 as keys: eight of 64 bits or sixteen of 32. Operation by operation what
// PlainLanes does. Private to the cpu's sort.
//   using V = Avx512Lanes<std::uint32_t>;   V v = V::load(keys);

#include <type_traits>

#include "tessera/kernels/sort/lanes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tessera {

template <class K>
struct Avx512Lanes {
  static_assert(sizeof(K) == 4 || sizeof(K) == 8);
  using Key = K;
  static constexpr bool wide_keys = sizeof(K) == 8;
  static constexpr int lanes = wide_keys ? 8 : 16;
  using Set = std::uint32_t;
  using Mask = std::conditional_t<wide_keys, __mmask8, __mmask16>;
  // The forms without a mask read a register that nobody has written, of which compilers complain.
  static constexpr Mask every = static_cast<Mask>(~Mask{0});

  __m512i v;

  TESSERA_LANE_STEP static inline Avx512Lanes all(K key) {
    if constexpr (wide_keys)
      return {_mm512_set1_epi64(static_cast<long long>(key))};
    else
      return {_mm512_set1_epi32(static_cast<int>(key))};
  }
  TESSERA_LANE_STEP static inline Avx512Lanes load(const K* from) {
    return {_mm512_loadu_si512(from)};
  }
  TESSERA_LANE_STEP static inline void store(K* to, Avx512Lanes a) { _mm512_storeu_si512(to, a.v); }
  TESSERA_LANE_STEP static inline Avx512Lanes load_first(const K* from, i64 n) {
    const __m512i largest = _mm512_set1_epi32(-1);
    if constexpr (wide_keys)
      return {_mm512_mask_loadu_epi64(largest, static_cast<Mask>(first(n)), from)};
    else
      return {_mm512_mask_loadu_epi32(largest, static_cast<Mask>(first(n)), from)};
  }
  TESSERA_LANE_STEP static inline void store_first(K* to, Avx512Lanes a, i64 n) {
    if constexpr (wide_keys)
      _mm512_mask_storeu_epi64(to, static_cast<Mask>(first(n)), a.v);
    else
      _mm512_mask_storeu_epi32(to, static_cast<Mask>(first(n)), a.v);
  }
  TESSERA_LANE_STEP static inline Avx512Lanes lesser(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (wide_keys)
      return {_mm512_maskz_min_epu64(every, a.v, b.v)};
    else
      return {_mm512_maskz_min_epu32(every, a.v, b.v)};
  }
  TESSERA_LANE_STEP static inline Avx512Lanes greater(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (wide_keys)
      return {_mm512_maskz_max_epu64(every, a.v, b.v)};
    else
      return {_mm512_maskz_max_epu32(every, a.v, b.v)};
  }
  TESSERA_LANE_STEP static inline Avx512Lanes reversed(Avx512Lanes a) {
    return {exchanged<lanes - 1>(a.v)};
  }
  template <int apart>
  TESSERA_LANE_STEP static inline Avx512Lanes ordered(Avx512Lanes a) {
    const __m512i b = exchanged<apart>(a.v);
    if constexpr (wide_keys)
      return {_mm512_mask_max_epu64(_mm512_maskz_min_epu64(every, a.v, b),
                                    static_cast<Mask>(upper<apart>()), a.v, b)};
    else
      return {_mm512_mask_max_epu32(_mm512_maskz_min_epu32(every, a.v, b),
                                    static_cast<Mask>(upper<apart>()), a.v, b)};
  }
  TESSERA_LANE_STEP static inline Set below(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (wide_keys)
      return _mm512_cmplt_epu64_mask(a.v, b.v);
    else
      return _mm512_cmplt_epu32_mask(a.v, b.v);
  }
  TESSERA_LANE_STEP static inline Set not_above(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (wide_keys)
      return _mm512_cmple_epu64_mask(a.v, b.v);
    else
      return _mm512_cmple_epu32_mask(a.v, b.v);
  }
  TESSERA_LANE_STEP static inline Avx512Lanes packed(Avx512Lanes a, Set set) {
    if constexpr (wide_keys)
      return {_mm512_maskz_compress_epi64(static_cast<Mask>(set), a.v)};
    else
      return {_mm512_maskz_compress_epi32(static_cast<Mask>(set), a.v)};
  }

 private:
  TESSERA_LANE_STEP static inline Set first(i64 n) {
    return n >= lanes ? (Set{1} << lanes) - 1 : n <= 0 ? 0 : (Set{1} << n) - 1;
  }
  // Lanes above those that they are exchanged with.
  template <int apart>
  static constexpr Set upper() {
    Set s = 0;
    for (int i = 0; i < lanes; ++i) s |= Set{i > (i ^ apart)} << i;
    return s;
  }
  template <int apart>
  TESSERA_LANE_STEP static inline __m512i exchanged(__m512i a) {
    if constexpr (wide_keys) {
      const __m512i place = _mm512_set_epi64(7 ^ apart, 6 ^ apart, 5 ^ apart, 4 ^ apart, 3 ^ apart,
                                             2 ^ apart, 1 ^ apart, 0 ^ apart);
      return _mm512_maskz_permutexvar_epi64(every, place, a);
    } else {
      const __m512i place =
          _mm512_set_epi32(15 ^ apart, 14 ^ apart, 13 ^ apart, 12 ^ apart, 11 ^ apart, 10 ^ apart,
                           9 ^ apart, 8 ^ apart, 7 ^ apart, 6 ^ apart, 5 ^ apart, 4 ^ apart,
                           3 ^ apart, 2 ^ apart, 1 ^ apart, 0 ^ apart);
      return _mm512_maskz_permutexvar_epi32(every, place, a);
    }
  }
};

}  // namespace tessera

#endif
