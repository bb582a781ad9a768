// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [positions in words]: the positions that sort a row come from sorting words of 64 bits, the
// leading bits of a key before the position it came from: one word an item instead of a pair, and
// the order is stable because positions ascend. How many bits the keys need is the width of their
// range; where fewer are left, items that are equal in those bits are neighbours afterwards, a few
// are sorted by insertion and many by words of their own, whose range is narrow.
// Private to the cpu's sort.
//   order_row(Row<double>{in, 1, out, 1}, n, words, scratch, false);

#include <mutex>

#include "tessera/kernels/sort/sort_keys.hpp"

namespace tessera {

template <class T>
struct Row {  // positions in `in` go to `out`
  const T* in;
  i64 in_step;
  i64* out;
  i64 out_step;

  auto key(i64 position) const { return SortKey<T>::key(in[position * in_step], true); }
};

template <class F>
void over_row(bool on_threads, i64 n, F&& f) {
  if (on_threads)
    parallel_for(n, 1 << 14, f);
  else
    f(i64{0}, n);
}

using Word = std::uint64_t;

template <bool again, class T>
void order_words(const Row<T>& row, i64 n, Word* words, Word* scratch, bool on_threads);

// Items that are equal in the bits of their words: positions ascend among them.
template <class T>
void order_alike(const Row<T>& row, i64 n, Word* words, Word* scratch) {
  constexpr i64 few = 16;
  if (n > few) return order_words<true>(row, n, words, scratch, false);
  using K = typename SortKey<T>::Key;
  Placed<K, i64> items[few];
  for (i64 i = 0; i < n; ++i) {
    const i64 position = row.out[i * row.out_step];
    items[i] = {row.key(position), position};
  }
  insertion_sort(items, n);
  for (i64 i = 0; i < n; ++i) row.out[i * row.out_step] = items[i].position;
}

template <class T>
void order_all_alike(const Row<T>& row, i64 n, Word* words, Word* scratch, int low) {
  constexpr i64 block = 256;
  const auto alike = [&](i64 i) { return (words[i] ^ words[i + 1]) >> low == 0; };
  for (i64 i = 0; i + 1 < n;) {
    const i64 end = std::min(i + block, n - 1);
    Word some = 0;
    wide([&] {
      for (i64 j = i; j < end; ++j) some |= Word{alike(j)};
    });
    if (some == 0) {
      i = end;
      continue;
    }
    while (!alike(i)) ++i;
    i64 last = i + 1;
    while (last + 1 < n && alike(last)) ++last;
    order_alike(Row<T>{row.in, row.in_step, row.out + i * row.out_step, row.out_step}, last + 1 - i,
                words + i, scratch + i);
    i = last + 1;
  }
}

// `again`: of the positions that are in the output, which ascend.
template <bool again, class T>
void order_words(const Row<T>& row, i64 n, Word* words, Word* scratch, bool on_threads) {
  using K = typename SortKey<T>::Key;
  std::mutex ends;
  K least = static_cast<K>(~K(0)), most = 0;
  over_row(on_threads, n, [&](i64 begin, i64 end) {
    K low = static_cast<K>(~K(0)), high = 0;
    wide([&] {
      for (i64 i = begin; i < end; ++i) {
        const K key = row.key(again ? row.out[i * row.out_step] : i);
        low = std::min(low, key);
        high = std::max(high, key);
        words[i] = key;
      }
    });
    const std::lock_guard lock(ends);
    least = std::min(least, low);
    most = std::max(most, high);
  });
  const int width = static_cast<int>(std::bit_width(static_cast<K>(most - least))),
            low = static_cast<int>(std::bit_width(static_cast<Word>(n - 1)));
  if (again && width == 0) return;
  // Every byte of a word is a pass of radix sort: twice the bits of a position, after those of a
  // sign and an exponent, leave few items alike.
  const int kept = std::min({width, 64 - low, 2 * low + 12}), dropped = width - kept;
  over_row(on_threads, n, [&](i64 begin, i64 end) {
    wide([&] {
      for (i64 i = begin; i < end; ++i)
        words[i] = ((words[i] - least) >> dropped) << low | static_cast<Word>(i);
    });
  });
  const auto sort_piece = [&](Word* x, Word* room, i64 m) {
    sort_keys(x, room, m, KeyBits<Word>{0, low, low + kept});
  };
  if (on_threads)
    sort_long_row(words, scratch, n, sort_piece);
  else
    sort_piece(words, scratch, n);
  const Word mask = (Word{1} << low) - 1;
  if constexpr (again)
    for (i64 i = 0; i < n; ++i) scratch[i] = static_cast<Word>(row.out[i * row.out_step]);
  over_row(on_threads, n, [&](i64 begin, i64 end) {
    wide([&] {
      for (i64 i = begin; i < end; ++i) {
        const Word at = words[i] & mask;
        row.out[i * row.out_step] = static_cast<i64>(again ? scratch[at] : at);
      }
    });
  });
  if (dropped > 0) order_all_alike(row, n, words, scratch, low);
}

template <class T>
void order_row(const Row<T>& row, i64 n, Word* words, Word* scratch, bool on_threads) {
  order_words<false>(row, n, words, scratch, on_threads);
}

}  // namespace tessera
