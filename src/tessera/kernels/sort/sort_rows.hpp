// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stable sorting of one dense row of items with scratch space of the same size: insertion for
// short rows, merging for middling ones and for keys that compare, radix for long rows of integer
// keys; long rows on several threads. Never allocates. Private to the cpu's sort.
//   sort_row(items, scratch, n);

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tessera/base/scalar.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {

// A complex number in NumPy's order: by real part, then imaginary part; those with a NaN after
// all others, NaN in the imaginary part alone first.
template <class R>
struct ComplexKey {
  R re, im;
};
template <class K, class I>
struct Placed {  // a key and where it came from
  K key;
  I position;
};

template <class K>
inline constexpr bool is_placed = false;
template <class K, class I>
inline constexpr bool is_placed<Placed<K, I>> = true;

template <class E>
auto key_of(const E& e) {
  if constexpr (is_placed<E>)
    return e.key;
  else if constexpr (requires { e.sort_key(); })
    return e.sort_key();
  else
    return e;
}
template <class E>
using KeyOf = decltype(key_of(std::declval<E>()));

template <class K>
requires std::is_unsigned_v<K>
bool before(K a, K b) { return a < b; }
template <class R>
bool before(const ComplexKey<R>& a, const ComplexKey<R>& b) {
  const int ca = 2 * (a.re != a.re) + (a.im != a.im), cb = 2 * (b.re != b.re) + (b.im != b.im);
  if (ca != cb) return ca < cb;
  if (a.re < b.re) return true;  // false where both are NaN
  if (b.re < a.re) return false;
  return a.im < b.im;
}

template <class E>
bool item_before(const E& a, const E& b) {
  return before(key_of(a), key_of(b));
}

template <class E>
void insertion_sort(E* x, i64 n) {
  for (i64 i = 1; i < n; ++i) {
    const E v = x[i];
    i64 j = i;
    for (; j > 0 && item_before(v, x[j - 1]); --j) x[j] = x[j - 1];
    x[j] = v;
  }
}

template <class E>
void merge(const E* a, i64 na, const E* b, i64 nb, E* to) {
  const E *a_end = a + na, *b_end = b + nb;
  while (a < a_end && b < b_end) {
    const bool second = item_before(*b, *a);
    *to++ = second ? *b : *a;
    b += second;
    a += !second;
  }
  to = std::copy(a, a_end, to);
  std::copy(b, b_end, to);
}

template <class E>
void merge_sort(E* x, E* scratch, i64 n) {
  constexpr i64 run = 16;
  for (i64 i = 0; i < n; i += run) insertion_sort(x + i, std::min(run, n - i));
  E *from = x, *to = scratch;
  for (i64 width = run; width < n; width *= 2, std::swap(from, to))
    for (i64 i = 0; i < n; i += 2 * width) {
      const i64 middle = std::min(i + width, n), end = std::min(i + 2 * width, n);
      merge(from + i, middle - i, from + middle, end - middle, to + i);
    }
  if (from != x) std::copy(from, from + n, x);
}

// By bytes of the key, least significant first; bytes that are equal throughout cost nothing.
template <class E>
void radix_sort(E* x, E* scratch, i64 n) {
  using K = KeyOf<E>;
  constexpr int digits = sizeof(K);
  i64 count[digits][256] = {};
  for (i64 i = 0; i < n; ++i) {
    const K key = key_of(x[i]);
    for (int d = 0; d < digits; ++d) ++count[d][(key >> (8 * d)) & 255];
  }
  E *from = x, *to = scratch;
  for (int d = 0; d < digits; ++d) {
    i64* const c = count[d];
    if (c[(key_of(from[0]) >> (8 * d)) & 255] == n) continue;
    i64 sum = 0;
    for (int v = 0; v < 256; ++v) sum += std::exchange(c[v], sum);
    for (i64 i = 0; i < n; ++i) to[c[(key_of(from[i]) >> (8 * d)) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != x) std::copy(from, from + n, x);
}

template <class E>
void sort_row(E* x, E* scratch, i64 n) {
  if (n <= 24) return insertion_sort(x, n);
  if constexpr (std::is_unsigned_v<KeyOf<E>>) {
    // A pass costs its 256 counters too: worth it from about that many items per byte of key.
    if (n >= 32 * static_cast<i64>(sizeof(KeyOf<E>))) return radix_sort(x, scratch, n);
    if constexpr (!is_placed<E>) return std::sort(x, x + n);  // equal keys are the same bits
  }
  merge_sort(x, scratch, n);
}

// How many of the first `taken` merged items come from a; items of a go before equal ones of b.
template <class E>
i64 merge_split(const E* a, i64 na, const E* b, i64 nb, i64 taken) {
  i64 low = std::max<i64>(0, taken - nb), high = std::min(taken, na);
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    if (item_before(b[taken - 1 - middle], a[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Sorted pieces merged pairwise, `width` of them at a time; each merge is cut into parts that do
// not depend on one another. Piece i begins at bound(i), and bound(pieces) is the end.
template <class E, class Bound>
void merge_level(const E* from, E* to, i64 pieces, i64 width, const Bound& bound) {
  const i64 pairs = (pieces + 2 * width - 1) / (2 * width),
            parts = std::max<i64>(1, 4 * num_threads() / pairs);
  auto edge = [&](i64 i) { return bound(std::min(i, pieces)); };
  parallel_for(pairs * parts, 1, [&](i64 first, i64 last) {
    for (i64 job = first; job < last; ++job) {
      const i64 pair = job / parts, part = job % parts;
      const i64 begin = edge(pair * 2 * width), middle = edge(pair * 2 * width + width),
                end = edge((pair + 1) * 2 * width);
      const E *a = from + begin, *b = from + middle;
      const i64 na = middle - begin, nb = end - middle;
      const i64 low = (end - begin) / parts * part,
                high = part + 1 == parts ? end - begin : (end - begin) / parts * (part + 1);
      const i64 a0 = merge_split(a, na, b, nb, low), a1 = merge_split(a, na, b, nb, high);
      merge(a + a0, a1 - a0, b + (low - a0), (high - a1) - (low - a0), to + begin + low);
    }
  });
}

// One row on all threads: pieces are sorted side by side, then merged.
template <class E>
void sort_long_row(E* x, E* scratch, i64 n) {
  i64 pieces = 1;
  while (pieces < num_threads() && pieces < 64) pieces *= 2;
  auto bound = [&](i64 i) { return n / pieces * i + std::min(i, n % pieces); };
  parallel_for(pieces, 1, [&](i64 first, i64 last) {
    for (i64 i = first; i < last; ++i)
      sort_row(x + bound(i), scratch + bound(i), bound(i + 1) - bound(i));
  });
  E *from = x, *to = scratch;
  for (i64 width = 1; width < pieces; width *= 2, std::swap(from, to))
    merge_level(from, to, pieces, width, bound);
  if (from != x)
    parallel_for(n, 1 << 16,
                 [&](i64 begin, i64 end) { std::copy(from + begin, from + end, x + begin); });
}

}  // namespace tessera
