// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [sorting columns]: up to 16 registers are sorted as a table, a register being a row. First
// every column by itself, by the odd-even merge sort of Batcher, which compares whole registers and
// moves no lane; then neighbouring columns are merged, twice as many at a time, a column being the
// continuation of the one before. A merge compares each key with its mirror image, which leaves two
// halves that need no more of each other; so it goes on until the halves are single keys. At last
// the table is transposed. Fewer registers than lanes are sorted each by itself and then merged. Of
// more than 16, up to 32, two sorted halves are merged.
// Private to the cpu's sort.
//   sort_few_in_registers<PlainLanes<double, 8>>(keys, n);

#include <utility>

#include "tessera/kernels/sort/lanes.hpp"

namespace tessera {

template <class V>
TESSERA_LANE_STEP inline void order_pair(V& a, V& b) {
  const V low = V::lesser(a, b);
  b = V::greater(a, b);
  a = low;
}

// Halves, quarters, ... of groups of 2 * apart lanes that are bitonic in every register.
template <class V, int count, int apart>
TESSERA_LANE_STEP inline void order_bitonic_lanes(V* v) {
  if constexpr (apart > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) v[i] = V::template ordered<apart>(v[i]);
    order_bitonic_lanes<V, count, apart / 2>(v);
  }
}

// The same for registers that are `apart` from each other: lanes stay where they are.
template <class V, int count, int apart>
TESSERA_LANE_STEP inline void order_bitonic_registers(V* v) {
  if constexpr (apart > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)
      if ((i & apart) == 0) order_pair(v[i], v[i + apart]);
    order_bitonic_registers<V, count, apart / 2>(v);
  }
}

// Sorted runs of `run` rows become runs of twice that many, until all are one.
template <class V, int rows, int run = 1, int apart = run>
TESSERA_LANE_STEP inline void sort_columns(V* v) {
  if constexpr (run < rows) {
    constexpr int first = apart == run ? 0 : apart;
#pragma GCC unroll 16
    for (int i = first; i + apart < rows; ++i)
      if ((i - first) / apart % 2 == 0 && i / (2 * run) == (i + apart) / (2 * run))
        order_pair(v[i], v[i + apart]);
    if constexpr (apart > 1)
      sort_columns<V, rows, run, apart / 2>(v);
    else
      sort_columns<V, rows, 2 * run, 2 * run>(v);
  }
}

// Of the lesser and the greater keys of two mirrored rows those that belong to the upper row, and
// those that belong to the lower one: in each group the lesser ones in the first half.
template <class V, int group, int... i>
TESSERA_LANE_STEP inline void unmirror(V& upper, V& lower, std::integer_sequence<int, i...>) {
  constexpr int half = group / 2;
  const V low = upper, high = lower;
  upper = V::template chosen<(i % group < half ? i : V::lanes + i - half)...>(low, high);
  lower = V::template chosen<(
      i % group < half ? (i ^ (group - 1)) : V::lanes + ((i - half) ^ (group - 1)))...>(low, high);
}

// Groups of `group` columns out of two sorted halves, until all are one.
template <class V, int rows, int group = 2>
TESSERA_LANE_STEP inline void merge_columns(V* v) {
#pragma GCC unroll 16
  for (int i = 0; i < rows / 2; ++i) {
    V &upper = v[i], &lower = v[rows - 1 - i];
    lower = V::template exchanged<group - 1>(lower);
    order_pair(upper, lower);
    unmirror<V, group>(upper, lower, std::make_integer_sequence<int, V::lanes>{});
  }
  order_bitonic_lanes<V, rows, group / 4>(v);
  order_bitonic_registers<V, rows, rows / 2>(v);
  if constexpr (group < V::lanes) merge_columns<V, rows, 2 * group>(v);
}

template <class V, int apart, int... i>
TESSERA_LANE_STEP inline void exchange_blocks(V& a, V& b, std::integer_sequence<int, i...>) {
  const V x = a, y = b;
  a = V::template chosen<((i & apart) == 0 ? i : V::lanes + (i ^ apart))...>(x, y);
  b = V::template chosen<((i & apart) == 0 ? (i ^ apart) : V::lanes + i)...>(x, y);
}
template <class V, int apart = V::lanes / 2>
TESSERA_LANE_STEP inline void transpose_square(V* v) {
  if constexpr (apart > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < V::lanes; ++i)
      if ((i & apart) == 0)
        exchange_blocks<V, apart>(v[i], v[i + apart], std::make_integer_sequence<int, V::lanes>{});
    transpose_square<V, apart / 2>(v);
  }
}

// Every register by itself: groups of `group` lanes out of two sorted halves.
template <class V, int count, int group = 2>
TESSERA_LANE_STEP inline void sort_lanes(V* v) {
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) v[i] = V::template ordered<group - 1>(v[i]);
  order_bitonic_lanes<V, count, group / 4>(v);
  if constexpr (group < V::lanes) sort_lanes<V, count, 2 * group>(v);
}

// Groups of `group` registers out of two sorted halves, until all are one. The mirrored registers
// stay mirrored: a bitonic sequence is one from either end.
template <class V, int count, int group = 2>
TESSERA_LANE_STEP inline void merge_registers(V* v) {
  if constexpr (group <= count) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)
      if ((i & (group / 2)) == 0) {
        V& other = v[i ^ (group - 1)];
        other = V::template exchanged<V::lanes - 1>(other);
        order_pair(v[i], other);
      }
    order_bitonic_registers<V, count, group / 4>(v);
    order_bitonic_lanes<V, count, V::lanes / 2>(v);
    merge_registers<V, count, 2 * group>(v);
  }
}

template <class V, int count>
TESSERA_OVER_LANES inline void sort_registers(typename V::Key* x, i64 n) {
  constexpr int lanes = V::lanes, squares = count / lanes;
  V v[count];
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) v[i] = V::load_first(x + i * lanes, n - i * lanes);
  if constexpr (squares > 0) {
    sort_columns<V, count>(v);
    merge_columns<V, count>(v);
#pragma GCC unroll 16
    for (int s = 0; s < squares; ++s) transpose_square(v + s * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)  // each square has its part of every column
      V::store_first(x + i * lanes, v[i % squares * lanes + i / squares], n - i * lanes);
  } else {
    sort_lanes<V, count>(v);
    merge_registers<V, count>(v);
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) V::store_first(x + i * lanes, v[i], n - i * lanes);
  }
}

// Sixteen registers of sorted keys and those that follow, no more and sorted too, become one row.
template <class V>
TESSERA_OVER_LANES inline void merge_rest(typename V::Key* x, i64 n) {
  constexpr int lanes = V::lanes, half = 16;
  V low[half], high[half];
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i) {
    const int mirrored = 2 * half - 1 - i;
    low[i] = V::load(x + i * lanes);
    high[i] =
        V::template exchanged<lanes - 1>(V::load_first(x + mirrored * lanes, n - mirrored * lanes));
    order_pair(low[i], high[i]);
  }
  order_bitonic_registers<V, half, half / 2>(low);
  order_bitonic_lanes<V, half, lanes / 2>(low);
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i) V::store(x + i * lanes, low[i]);
  order_bitonic_registers<V, half, half / 2>(high);
  order_bitonic_lanes<V, half, lanes / 2>(high);
  x += half * lanes;
  n -= half * lanes;
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i) V::store_first(x + i * lanes, high[i], n - i * lanes);
}

template <class V>
inline constexpr i64 most_in_registers = 32 * V::lanes;

template <class V>
TESSERA_OVER_LANES inline void sort_few_in_registers(typename V::Key* x, i64 n) {
  constexpr i64 half = 16 * V::lanes;
  if (n <= 1) return;
  if (n > half) {
    sort_registers<V, 16>(x, half);
    sort_few_in_registers<V>(x + half, n - half);
    return merge_rest<V>(x, n);
  }
  if (n <= V::lanes) return sort_registers<V, 1>(x, n);
  if (n <= 2 * V::lanes) return sort_registers<V, 2>(x, n);
  if (n <= 4 * V::lanes) return sort_registers<V, 4>(x, n);
  if (n <= 8 * V::lanes) return sort_registers<V, 8>(x, n);
  sort_registers<V, 16>(x, n);
}

}  // namespace tessera
