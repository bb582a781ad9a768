// SPDX-License-Identifier: Apache-2.0
#pragma once
// The registers of AVX-512 as numbers: eight of 64 bits or sixteen of 32. Operation by operation
// what PlainLanes does, but for the signs of zeros. Private to the cpu's sort.
//   using V = Avx512Lanes<std::uint32_t>;   V v = V::load(keys);

#include <algorithm>
#include <array>
#include <type_traits>

#include "tessera/kernels/sort/lanes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tessera {

// Of each set of eight lanes: its lanes, then the others, a byte each.
inline constexpr auto lanes_of_set_first = [] {
  std::array<std::uint64_t, 256> order{};
  for (unsigned set = 0; set < 256; ++set) {
    int n = 0;
    for (unsigned side : {1u, 0u})
      for (unsigned i = 0; i < 8; ++i)
        if ((set >> i & 1) == side) order[set] |= std::uint64_t{i} << 8 * n++;
  }
  return order;
}();

template <class K>
struct Avx512Lanes {
  static_assert(sizeof(K) == 4 || sizeof(K) == 8);
  using Key = K;
  static constexpr bool wide_keys = sizeof(K) == 8, floats = std::is_floating_point_v<K>,
                        with_sign = std::is_signed_v<K>;
  static constexpr int lanes = wide_keys ? 8 : 16;
  using Set = std::uint32_t;
  using Mask = std::conditional_t<wide_keys, __mmask8, __mmask16>;
  // The forms without a mask read a register that nobody has written, of which compilers complain.
  static constexpr Mask every = static_cast<Mask>(~Mask{0});

  __m512i v;

  TESSERA_LANE_STEP static inline Avx512Lanes all(K key) {
    if constexpr (wide_keys)
      return {_mm512_set1_epi64(__builtin_bit_cast(long long, key))};
    else
      return {_mm512_set1_epi32(__builtin_bit_cast(int, key))};
  }
  TESSERA_LANE_STEP static inline Avx512Lanes load(const K* from) {
    return {_mm512_loadu_si512(from)};
  }
  TESSERA_LANE_STEP static inline void store(K* to, Avx512Lanes a) { _mm512_storeu_si512(to, a.v); }
  TESSERA_LANE_STEP static inline Avx512Lanes load_first(const K* from, i64 n) {
    const __m512i largest = all(largest_key<K>).v;
    if constexpr (wide_keys)
      return {_mm512_mask_loadu_epi64(largest, first(n), from)};
    else
      return {_mm512_mask_loadu_epi32(largest, first(n), from)};
  }
  TESSERA_LANE_STEP static inline void store_first(K* to, Avx512Lanes a, i64 n) {
    if constexpr (wide_keys)
      _mm512_mask_storeu_epi64(to, first(n), a.v);
    else
      _mm512_mask_storeu_epi32(to, first(n), a.v);
  }
  TESSERA_LANE_STEP static inline Avx512Lanes lesser(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (floats && wide_keys)
      return {_mm512_castpd_si512(
          _mm512_maskz_min_pd(every, _mm512_castsi512_pd(a.v), _mm512_castsi512_pd(b.v)))};
    else if constexpr (floats)
      return {_mm512_castps_si512(
          _mm512_maskz_min_ps(every, _mm512_castsi512_ps(a.v), _mm512_castsi512_ps(b.v)))};
    else if constexpr (wide_keys)
      return {with_sign ? _mm512_maskz_min_epi64(every, a.v, b.v)
                        : _mm512_maskz_min_epu64(every, a.v, b.v)};
    else
      return {with_sign ? _mm512_maskz_min_epi32(every, a.v, b.v)
                        : _mm512_maskz_min_epu32(every, a.v, b.v)};
  }
  TESSERA_LANE_STEP static inline Avx512Lanes greater(Avx512Lanes a, Avx512Lanes b) {
    return greater_in(every, a, a, b);
  }
  template <int apart>
  TESSERA_LANE_STEP static inline Avx512Lanes exchanged(Avx512Lanes a) {
    if constexpr (wide_keys) {
      const __m512i place = _mm512_set_epi64(7 ^ apart, 6 ^ apart, 5 ^ apart, 4 ^ apart, 3 ^ apart,
                                             2 ^ apart, 1 ^ apart, 0 ^ apart);
      return {_mm512_maskz_permutexvar_epi64(every, place, a.v)};
    } else {
      const __m512i place =
          _mm512_set_epi32(15 ^ apart, 14 ^ apart, 13 ^ apart, 12 ^ apart, 11 ^ apart, 10 ^ apart,
                           9 ^ apart, 8 ^ apart, 7 ^ apart, 6 ^ apart, 5 ^ apart, 4 ^ apart,
                           3 ^ apart, 2 ^ apart, 1 ^ apart, 0 ^ apart);
      return {_mm512_maskz_permutexvar_epi32(every, place, a.v)};
    }
  }
  template <int apart>
  TESSERA_LANE_STEP static inline Avx512Lanes ordered(Avx512Lanes a) {
    const Avx512Lanes b = exchanged<apart>(a);
    return greater_in(upper<apart>(), lesser(a, b), a, b);
  }
  template <int... from>
  TESSERA_LANE_STEP static inline Avx512Lanes chosen(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (wide_keys)
      return {_mm512_permutex2var_epi64(a.v, (__m512i)(__v8di{from...}), b.v)};
    else
      return {_mm512_permutex2var_epi32(a.v, (__m512i)(__v16si{from...}), b.v)};
  }
  TESSERA_LANE_STEP static inline Set below(Avx512Lanes a, Avx512Lanes b) {
    if constexpr (floats && wide_keys)
      return _mm512_cmp_pd_mask(_mm512_castsi512_pd(a.v), _mm512_castsi512_pd(b.v), _CMP_LT_OQ);
    else if constexpr (floats)
      return _mm512_cmp_ps_mask(_mm512_castsi512_ps(a.v), _mm512_castsi512_ps(b.v), _CMP_LT_OQ);
    else if constexpr (wide_keys)
      return with_sign ? _mm512_cmplt_epi64_mask(a.v, b.v) : _mm512_cmplt_epu64_mask(a.v, b.v);
    else
      return with_sign ? _mm512_cmplt_epi32_mask(a.v, b.v) : _mm512_cmplt_epu32_mask(a.v, b.v);
  }
  TESSERA_LANE_STEP static inline Set not_above(Avx512Lanes a, Avx512Lanes b) {
    return below(b, a) ^ every;
  }
  TESSERA_LANE_STEP static inline void split(Avx512Lanes a, Set set, K* front, K* back) {
    if constexpr (wide_keys) {  // one register with both, twice
      const __m128i order =
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&lanes_of_set_first[set & 255]));
      const __m512i both =
          _mm512_maskz_permutexvar_epi64(every, _mm512_maskz_cvtepu8_epi64(every, order), a.v);
      _mm512_storeu_si512(front, both);
      _mm512_storeu_si512(back - lanes, both);
    } else {
      const Set others = set ^ every;
      const i64 n = std::popcount(others);
      _mm512_storeu_si512(front, _mm512_maskz_compress_epi32(static_cast<Mask>(set), a.v));
      store_first(back - n, {_mm512_maskz_compress_epi32(static_cast<Mask>(others), a.v)}, n);
    }
  }

 private:
  TESSERA_LANE_STEP static inline Mask first(i64 n) {
    return static_cast<Mask>(_bzhi_u32(every, static_cast<unsigned>(std::clamp<i64>(n, 0, lanes))));
  }
  // The greater of a and b in the lanes of a set, elsewhere what `otherwise` holds.
  TESSERA_LANE_STEP static inline Avx512Lanes greater_in(Mask set, Avx512Lanes otherwise,
                                                         Avx512Lanes a, Avx512Lanes b) {
    if constexpr (floats && wide_keys)
      return {_mm512_castpd_si512(_mm512_mask_max_pd(_mm512_castsi512_pd(otherwise.v), set,
                                                     _mm512_castsi512_pd(a.v),
                                                     _mm512_castsi512_pd(b.v)))};
    else if constexpr (floats)
      return {_mm512_castps_si512(_mm512_mask_max_ps(_mm512_castsi512_ps(otherwise.v), set,
                                                     _mm512_castsi512_ps(a.v),
                                                     _mm512_castsi512_ps(b.v)))};
    else if constexpr (wide_keys)
      return {with_sign ? _mm512_mask_max_epi64(otherwise.v, set, a.v, b.v)
                        : _mm512_mask_max_epu64(otherwise.v, set, a.v, b.v)};
    else
      return {with_sign ? _mm512_mask_max_epi32(otherwise.v, set, a.v, b.v)
                        : _mm512_mask_max_epu32(otherwise.v, set, a.v, b.v)};
  }
  // Lanes above those that they are exchanged with.
  template <int apart>
  static constexpr Mask upper() {
    Set s = 0;
    for (int i = 0; i < lanes; ++i) s |= Set{i > (i ^ apart)} << i;
    return static_cast<Mask>(s);
  }
};

}  // namespace tessera

#endif
