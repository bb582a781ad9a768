// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [sorting in registers]: up to 16 registers of unsigned keys are sorted by a bitonic network:
// first every register by itself, then neighbours are merged, twice as many at a time. A merge
// compares each key with its mirror image, which leaves two halves that need no more of each other;
// so it goes on until the halves are single lanes. Longer rows are cut at a key that samples say
// lies in the middle: a register of keys at a time, the lesser ones close up in place, the others
// go to the scratch and come back behind them. Where the samples are deceived again and again,
// radix sort does the rest. Equal keys are the same bits: nobody sees which came first.
// Private to the cpu's sort.
//   sort_in_registers<PlainLanes<std::uint64_t, 8>>(keys, scratch, n);

#include <bit>
#include <cstring>

#include "tessera/kernels/sort/lanes.hpp"
#include "tessera/kernels/sort/sort_rows.hpp"

namespace tessera {

// Halves, quarters, ... of registers whose lanes are bitonic.
template <class V, int count, int apart>
TESSERA_LANE_STEP inline void order_bitonic_lanes(V* v) {
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) v[i] = V::template ordered<apart>(v[i]);
  if constexpr (apart > 1) order_bitonic_lanes<V, count, apart / 2>(v);
}

// Every register by itself: groups of `group` lanes out of two sorted halves.
template <class V, int count, int group = 2>
TESSERA_LANE_STEP inline void sort_lanes(V* v) {
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) v[i] = V::template ordered<group - 1>(v[i]);
  if constexpr (group > 2) order_bitonic_lanes<V, count, group / 4>(v);
  if constexpr (group < V::lanes) sort_lanes<V, count, 2 * group>(v);
}

template <class V>
TESSERA_LANE_STEP inline void order_pair(V& a, V& b) {
  const V low = V::lesser(a, b);
  b = V::greater(a, b);
  a = low;
}

// Registers of a group, `apart` from each other: lanes stay where they are.
template <class V, int count, int apart>
TESSERA_LANE_STEP inline void order_bitonic_registers(V* v) {
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i)
    if ((i & apart) == 0) order_pair(v[i], v[i + apart]);
  if constexpr (apart > 1) order_bitonic_registers<V, count, apart / 2>(v);
}

// Groups of `group` registers out of two sorted halves, until all are one. The mirrored registers
// stay mirrored: a bitonic sequence is one from either end.
template <class V, int count, int group = 2>
TESSERA_LANE_STEP inline void merge_registers(V* v) {
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i)
    if ((i & (group / 2)) == 0) {
      V& other = v[i ^ (group - 1)];
      other = V::reversed(other);
      order_pair(v[i], other);
    }
  if constexpr (group > 2) order_bitonic_registers<V, count, group / 4>(v);
  order_bitonic_lanes<V, count, V::lanes / 2>(v);
  if constexpr (group < count) merge_registers<V, count, 2 * group>(v);
}

template <class V, int count>
TESSERA_OVER_LANES inline void sort_registers(typename V::Key* x, i64 n) {
  V v[count];
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) v[i] = V::load_first(x + i * V::lanes, n - i * V::lanes);
  sort_lanes<V, count>(v);
  if constexpr (count > 1) merge_registers<V, count>(v);
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) V::store_first(x + i * V::lanes, v[i], n - i * V::lanes);
}

template <class V>
inline constexpr i64 most_in_registers = 16 * V::lanes;

template <class V>
TESSERA_OVER_LANES inline void sort_few_in_registers(typename V::Key* x, i64 n) {
  if (n <= 1) return;
  if (n <= V::lanes) return sort_registers<V, 1>(x, n);
  if (n <= 2 * V::lanes) return sort_registers<V, 2>(x, n);
  if (n <= 4 * V::lanes) return sort_registers<V, 4>(x, n);
  if (n <= 8 * V::lanes) return sort_registers<V, 8>(x, n);
  sort_registers<V, 16>(x, n);
}

// Keys below the bound (or not above it) in front, the others behind; gives how many are in front.
template <class V, bool with_equal>
TESSERA_OVER_LANES inline i64 cut_at(typename V::Key* x, typename V::Key* scratch, i64 n,
                                     typename V::Key bound) {
  const V b = V::all(bound);
  i64 front = 0, i = 0;
#pragma GCC unroll 4
  for (; i + V::lanes <= n; i += V::lanes) {
    const V v = V::load(x + i);
    const typename V::Set set = with_equal ? V::not_above(v, b) : V::below(v, b);
    V::store(x + front, V::packed(v, set));  // no further than what was read
    V::store(scratch + (i - front), V::packed(v, ~set));
    front += std::popcount(set);
  }
  if (i < n) {
    const typename V::Set there = (typename V::Set{1} << (n - i)) - 1;
    const V v = V::load_first(x + i, n - i);
    const typename V::Set set = (with_equal ? V::not_above(v, b) : V::below(v, b)) & there;
    const i64 taken = std::popcount(set);
    V::store_first(x + front, V::packed(v, set), taken);
    V::store_first(scratch + (i - front), V::packed(v, there & ~set), n - i - taken);
    front += taken;
  }
  std::memcpy(x + front, scratch, static_cast<std::size_t>(n - front) * sizeof(typename V::Key));
  return front;
}

// A key from about the middle of a row.
template <class V>
TESSERA_OVER_LANES inline typename V::Key middle_of_samples(const typename V::Key* x, i64 n) {
  typename V::Key sample[64];
  const i64 m = n > 4096 ? 64 : 16, step = n / m;
  for (i64 i = 0; i < m; ++i) sample[i] = x[i * step + step / 2];
  sort_few_in_registers<V>(sample, m);
  return sample[m / 2];
}

// `cuts`: how many more are tried in a row before radix sort takes over.
template <class V>
TESSERA_OVER_LANES inline void sort_in_registers(typename V::Key* x, typename V::Key* scratch,
                                                 i64 n, int cuts) {
  while (n > most_in_registers<V>) {
    if (cuts-- == 0) return radix_sort(x, scratch, n);
    const typename V::Key bound = middle_of_samples<V>(x, n);
    const i64 front = cut_at<V, false>(x, scratch, n, bound);
    if (front == 0) {  // the bound is the least key: all that are equal to it are in place
      const i64 equal = cut_at<V, true>(x, scratch, n, bound);
      x += equal;
      n -= equal;
    } else if (front < n - front) {
      sort_in_registers<V>(x, scratch, front, cuts);
      x += front;
      n -= front;
    } else {
      sort_in_registers<V>(x + front, scratch, n - front, cuts);
      n = front;
    }
  }
  sort_few_in_registers<V>(x, n);
}
template <class V>
TESSERA_OVER_LANES inline void sort_in_registers(typename V::Key* x, typename V::Key* scratch,
                                                 i64 n) {
  sort_in_registers<V>(x, scratch, n,
                       2 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))));
}

}  // namespace tessera
