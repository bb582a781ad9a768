// SPDX-License-Identifier: Apache-2.0
#pragma once
// A register of numbers as sorting needs it, in plain C++: what every other kind of register
// (lanes_avx512.hpp) is compared with, and what networks.hpp and vector_sort.hpp are tested with on
// hosts that have no such register. No number is NaN. Private to the cpu's sort.
//   using V = PlainLanes<std::uint64_t, 8>;   V v = V::load(keys);   v = V::ordered<1>(v);

#include <bit>
#include <limits>

#include "tessera/base/scalar.hpp"
#include "tessera/kernels/wide.hpp"

// Functions over registers; steps are always part of the function that takes them.
#if defined(__x86_64__)
#define TESSERA_OVER_LANES [[gnu::target(TESSERA_AVX512)]]
#define TESSERA_LANE_STEP [[gnu::target(TESSERA_AVX512), gnu::always_inline]]
#else
#define TESSERA_OVER_LANES
#define TESSERA_LANE_STEP [[gnu::always_inline]]
#endif

namespace tessera {

template <class K>
inline constexpr K largest_key = std::numeric_limits<K>::has_infinity
                                     ? std::numeric_limits<K>::infinity()
                                     : std::numeric_limits<K>::max();

template <class K, int count>
struct PlainLanes {
  using Key = K;
  static constexpr int lanes = count;
  using Set = std::uint32_t;  // of lanes, a bit each

  K lane[lanes];

  TESSERA_LANE_STEP static inline PlainLanes all(K key) {
    PlainLanes v;
    for (int i = 0; i < lanes; ++i) v.lane[i] = key;
    return v;
  }
  TESSERA_LANE_STEP static inline PlainLanes load(const K* from) {
    PlainLanes v;
    for (int i = 0; i < lanes; ++i) v.lane[i] = from[i];
    return v;
  }
  TESSERA_LANE_STEP static inline void store(K* to, const PlainLanes& v) {
    for (int i = 0; i < lanes; ++i) to[i] = v.lane[i];
  }
  // The first n, nothing where n is not positive; other lanes hold the largest key.
  TESSERA_LANE_STEP static inline PlainLanes load_first(const K* from, i64 n) {
    PlainLanes v = all(largest_key<K>);
    for (int i = 0; i < lanes && i < n; ++i) v.lane[i] = from[i];
    return v;
  }
  TESSERA_LANE_STEP static inline void store_first(K* to, const PlainLanes& v, i64 n) {
    for (int i = 0; i < lanes && i < n; ++i) to[i] = v.lane[i];
  }
  TESSERA_LANE_STEP static inline PlainLanes lesser(const PlainLanes& a, const PlainLanes& b) {
    PlainLanes v;
    for (int i = 0; i < lanes; ++i) v.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
    return v;
  }
  TESSERA_LANE_STEP static inline PlainLanes greater(const PlainLanes& a, const PlainLanes& b) {
    PlainLanes v;
    for (int i = 0; i < lanes; ++i) v.lane[i] = a.lane[i] < b.lane[i] ? b.lane[i] : a.lane[i];
    return v;
  }
  // Lane i holds what lane i ^ apart held.
  template <int apart>
  TESSERA_LANE_STEP static inline PlainLanes exchanged(const PlainLanes& a) {
    PlainLanes v;
    for (int i = 0; i < lanes; ++i) v.lane[i] = a.lane[i ^ apart];
    return v;
  }
  // Lanes i and i ^ apart in order, the lesser key in the lower lane.
  template <int apart>
  TESSERA_LANE_STEP static inline PlainLanes ordered(const PlainLanes& a) {
    PlainLanes v;
    for (int i = 0; i < lanes; ++i) {
      const K x = a.lane[i], y = a.lane[i ^ apart];
      v.lane[i] = (i < (i ^ apart)) == (x < y) ? x : y;
    }
    return v;
  }
  // Lanes by number out of a, which come first, and b.
  template <int... from>
  TESSERA_LANE_STEP static inline PlainLanes chosen(const PlainLanes& a, const PlainLanes& b) {
    return {{(from < lanes ? a.lane[from % lanes] : b.lane[from % lanes])...}};
  }
  TESSERA_LANE_STEP static inline Set below(const PlainLanes& a, const PlainLanes& b) {
    Set s = 0;
    for (int i = 0; i < lanes; ++i) s |= Set{a.lane[i] < b.lane[i]} << i;
    return s;
  }
  TESSERA_LANE_STEP static inline Set not_above(const PlainLanes& a, const PlainLanes& b) {
    Set s = 0;
    for (int i = 0; i < lanes; ++i) s |= Set{a.lane[i] <= b.lane[i]} << i;
    return s;
  }
  // The lanes of a set side by side from `front`, the others up to `back`. What a register holds
  // besides may be written beyond either, towards the other: two registers must fit in between.
  TESSERA_LANE_STEP static inline void split(const PlainLanes& a, Set set, K* front, K* back) {
    for (int i = 0; i < lanes; ++i)
      if (set >> i & 1) *front++ = a.lane[i];
    for (int i = lanes - 1; i >= 0; --i)
      if (!(set >> i & 1)) *--back = a.lane[i];
  }
};

}  // namespace tessera
