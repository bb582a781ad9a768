// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [lines side by side]: short lines are sorted as many at once as fill a line of the cache, a
// row of a block holds the keys of one place of all of them. The odd-even merge sort of Batcher
// compares rows by a fixed plan, so that each step is a minimum and a maximum of whole registers,
// whatever the registers of the host are. Private to the cpu's sort.
//   load_side_by_side<double>(x, places, step, n, block);   sort_side_by_side(block, n);

#include <algorithm>
#include <span>

#include "tessera/kernels/sort/sort_keys.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

template <class K>
inline constexpr i64 lines_at_once = 64 / sizeof(K);
// The steps grow with the square of a logarithm: longer lines are better sorted one by one.
inline constexpr i64 longest_side_by_side = 1024;

// Two ranges of so many rows, each row beside its partner: the lesser keys to the first range.
template <class K>
inline void order_row_pairs(K* a, K* b, i64 rows) {
  constexpr i64 width = lines_at_once<K>;
  for (i64 i = 0; i < rows; ++i, a += width, b += width) {
    K low[width], high[width];
    for (i64 c = 0; c < width; ++c) {
      low[c] = a[c] < b[c] ? a[c] : b[c];
      high[c] = a[c] < b[c] ? b[c] : a[c];
    }
    for (i64 c = 0; c < width; ++c) {
      a[c] = low[c];
      b[c] = high[c];
    }
  }
}

// Sorted runs of `run` rows become runs of twice that many, until all n rows are one.
template <class K>
void sort_side_by_side(K* block, i64 n) {
  constexpr i64 width = lines_at_once<K>;
  wide([block, n] {
    for (i64 run = 1; run < n; run *= 2)
      for (i64 apart = run; apart >= 1; apart /= 2)
        for (i64 first = apart == run ? 0 : apart; first + apart < n; first += 2 * apart) {
          if ((first ^ (first + apart)) >= 2 * run) continue;  // they belong to two merges
          K* const begin = block + first * width;
          order_row_pairs(begin, begin + apart * width, std::min(apart, n - first - apart));
        }
  });
}

inline bool are_neighbours(std::span<const i64> places, i64 expected) {
  if (static_cast<i64>(places.size()) != expected) return false;
  for (std::size_t c = 1; c < places.size(); ++c)
    if (places[c] != places[0] + static_cast<i64>(c)) return false;
  return true;
}

// Lines that begin at `places`; columns of the block beyond them hold zeros.
template <class T, class K = typename SortKey<T>::Key>
void load_side_by_side(const T* from, std::span<const i64> places, i64 step, i64 n, K* block) {
  constexpr i64 width = lines_at_once<K>;
  const i64 count = static_cast<i64>(places.size());
  if (are_neighbours(places, width))
    return wide([&] {
      const T* const first = from + places[0];
      for (i64 i = 0; i < n; ++i)
        for (i64 c = 0; c < width; ++c)
          block[i * width + c] = SortKey<T>::key(first[i * step + c], false);
    });
  for (i64 i = 0; i < n; ++i) {
    for (i64 c = 0; c < count; ++c)
      block[i * width + c] =
          SortKey<T>::key(from[places[static_cast<std::size_t>(c)] + i * step], false);
    std::fill(block + i * width + count, block + (i + 1) * width, K(0));
  }
}

template <class T, class K = typename SortKey<T>::Key>
void store_side_by_side(const K* block, i64 n, T* to, std::span<const i64> places, i64 step) {
  constexpr i64 width = lines_at_once<K>;
  if (are_neighbours(places, width))
    return wide([&] {
      T* const first = to + places[0];
      for (i64 i = 0; i < n; ++i)
        for (i64 c = 0; c < width; ++c)
          first[i * step + c] = SortKey<T>::value(block[i * width + c]);
    });
  for (i64 i = 0; i < n; ++i)
    for (std::size_t c = 0; c < places.size(); ++c)
      to[places[c] + i * step] = SortKey<T>::value(block[i * width + static_cast<i64>(c)]);
}

}  // namespace tessera
