// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [sorting in registers]: rows that fit into registers are sorted there (networks.hpp). Longer
// ones are cut in place at a key that samples say lies in the middle: some keys of either end wait
// aside, which leaves room at both; then registers of keys are read from the end with less room,
// and of each the lesser keys go to the front and the others to the back. Where the samples are
// deceived again and again, std::sort does the rest. Equal keys are the same bits, but for zeros of
// two signs, of which either may come out for the other: nobody sees which came first.
// Private to the cpu's sort.
//   sort_in_registers<PlainLanes<std::uint64_t, 8>>(keys, n);

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/kernels/sort/networks.hpp"

namespace tessera {

template <class V>
struct Gap {  // between the keys that were moved to the front and to the back
  typename V::Key *front, *back;
};

template <class V, bool with_equal>
TESSERA_LANE_STEP inline typename V::Set before_bound(const V& v, const V& bound) {
  return with_equal ? V::not_above(v, bound) : V::below(v, bound);
}

template <class V, bool with_equal>
TESSERA_LANE_STEP inline void partition_lanes(const V& v, const V& bound, Gap<V>& gap) {
  const typename V::Set set = before_bound<V, with_equal>(v, bound);
  V::split(v, set, gap.front, gap.back);
  const int n = std::popcount(set);
  gap.front += n;
  gap.back -= V::lanes - n;
}

// The keys that are still missing, which fill the gap.
template <class V, bool with_equal>
TESSERA_LANE_STEP inline void partition_rest(const typename V::Key* x, i64 n, const V& bound,
                                             Gap<V>& gap) {
  constexpr i64 lanes = V::lanes;
  for (; n >= 2 * lanes; x += lanes, n -= lanes)
    partition_lanes<V, with_equal>(V::load(x), bound, gap);
  for (; n > 0; x += lanes, n -= lanes) {
    const i64 m = std::min(n, lanes);
    const V v = V::load_first(x, m);
    const auto there = static_cast<typename V::Set>((std::uint64_t{1} << m) - 1);
    const typename V::Set set = before_bound<V, with_equal>(v, bound) & there;
    typename V::Key halves[2 * lanes];
    V::split(v, set, halves, halves + 2 * lanes);
    const i64 taken = std::popcount(set), left = m - taken;
    V::store_first(gap.front, V::load_first(halves, taken), taken);
    V::store_first(gap.back - left, V::load_first(halves + lanes + taken, left), left);
    gap.front += taken;
    gap.back -= left;
  }
}

// Keys below the bound (or not above it) in front, the others behind; gives how many are in front.
template <class V, bool with_equal>
TESSERA_OVER_LANES inline i64 cut_at(typename V::Key* x, i64 n, typename V::Key limit) {
  using K = typename V::Key;
  constexpr i64 at_once = 8, block = at_once * V::lanes;
  const V bound = V::all(limit);
  Gap<V> gap{x, x + n};
  K waiting[4 * block];
  i64 head = n, tail = 0;
  if (n > 4 * block) {
    head = block + n % block;
    tail = block;
  }
  std::memcpy(waiting, x, static_cast<std::size_t>(head) * sizeof(K));
  std::memcpy(waiting + head, x + n - tail, static_cast<std::size_t>(tail) * sizeof(K));
  for (const K *left = x + head, *right = x + n - tail; left < right;) {
    const bool from_left = left - gap.front <= gap.back - right;
    const K* const from = from_left ? left : right - block;
    left += from_left ? block : 0;
    right -= from_left ? 0 : block;
    V v[at_once];
#pragma GCC unroll 8
    for (int i = 0; i < at_once; ++i) v[i] = V::load(from + i * V::lanes);
#pragma GCC unroll 8
    for (int i = 0; i < at_once; ++i) partition_lanes<V, with_equal>(v[i], bound, gap);
  }
  partition_rest<V, with_equal>(waiting, head + tail, bound, gap);
  return gap.front - x;
}

// A key from about the middle of a row.
template <class V>
TESSERA_OVER_LANES inline typename V::Key middle_of_samples(const typename V::Key* x, i64 n) {
  typename V::Key sample[128];
  const i64 m = n > 16384 ? 128 : n > 2048 ? 64 : n > 512 ? 16 : 8, step = n / m;
  for (i64 i = 0; i < m; ++i) sample[i] = x[i * step + step / 2];
  sort_few_in_registers<V>(sample, m);
  return sample[m / 2];
}

// `cuts`: how many more are tried in a row before std::sort takes over.
template <class V>
TESSERA_OVER_LANES inline void sort_in_registers(typename V::Key* x, i64 n, int cuts) {
  while (n > most_in_registers<V>) {
    if (cuts-- == 0) return std::sort(x, x + n);
    const typename V::Key bound = middle_of_samples<V>(x, n);
    const i64 front = cut_at<V, false>(x, n, bound);
    if (front == 0) {  // the bound is the least key: all that are equal to it are in place
      const i64 equal = cut_at<V, true>(x, n, bound);
      x += equal;
      n -= equal;
    } else if (front < n - front) {
      sort_in_registers<V>(x, front, cuts);
      x += front;
      n -= front;
    } else {
      sort_in_registers<V>(x + front, n - front, cuts);
      n = front;
    }
  }
  sort_few_in_registers<V>(x, n);
}
template <class V>
TESSERA_OVER_LANES inline void sort_in_registers(typename V::Key* x, i64 n) {
  sort_in_registers<V>(x, n, 2 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))));
}

}  // namespace tessera
