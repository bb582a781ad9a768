// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stable sorting of one dense row of items with scratch space of the same size: integer keys in
// wide registers where the host has them, else by insertion for short rows and by radix for long
// ones, or by counting where they have few values; keys that compare by merging; long rows on
// several threads. Never allocates. Private to the cpu's sort.
//   sort_row(items, scratch, n);

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "tessera/base/scalar.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/wide.hpp"

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

// Which bits of keys differ: bits low to high of their distance from the least one.
template <class K>
struct KeyBits {
  K least = 0;
  int low = 0, high = 8 * sizeof(K);
  int digits() const { return std::max(1, (high - low + 7) / 8); }
};

// By bytes of the key, least significant first; bytes that are equal throughout cost nothing.
template <int digits, class E>
void radix_passes(E* x, E* scratch, i64 n, const KeyBits<KeyOf<E>>& bits) {
  using K = KeyOf<E>;
  const auto digit = [&](const E& e, int d) {
    return static_cast<K>(key_of(e) - bits.least) >> (bits.low + 8 * d) & 255;
  };
  i64 count[digits][256] = {};
  for (i64 i = 0; i < n; ++i)
    for (int d = 0; d < digits; ++d) ++count[d][digit(x[i], d)];
  E *from = x, *to = scratch;
  for (int d = 0; d < digits; ++d) {
    i64* const c = count[d];
    if (c[digit(from[0], d)] == n) continue;
    i64 sum = 0;
    for (int v = 0; v < 256; ++v) sum += std::exchange(c[v], sum);
    for (i64 i = 0; i < n; ++i) to[c[digit(from[i], d)]++] = from[i];
    std::swap(from, to);
  }
  if (from != x) std::copy(from, from + n, x);
}
template <class E, int digits = sizeof(KeyOf<E>)>
void radix_sort(E* x, E* scratch, i64 n, const KeyBits<KeyOf<E>>& bits = {}) {
  if constexpr (digits > 1)
    if (bits.digits() < digits) return radix_sort<E, digits - 1>(x, scratch, n, bits);
  radix_passes<digits>(x, scratch, n, bits);
}

// In wide registers, where the host has them (vector_sort.cpp); false: it has not, or not for
// these.
#if defined(__x86_64__)
bool sort_in_wide_registers(std::int32_t* x, i64 n);
bool sort_in_wide_registers(std::int64_t* x, i64 n);
bool sort_in_wide_registers(std::uint32_t* x, i64 n);
bool sort_in_wide_registers(std::uint64_t* x, i64 n);
bool sort_in_wide_registers(float* x, i64 n);   // none of them NaN; a zero may come out with the
bool sort_in_wide_registers(double* x, i64 n);  // sign of another
// A register of neighbouring columns as lines of n keys that follow each other, and back
// (columns.hpp): for hosts that sort in wide registers.
void columns_to_lines(const std::uint32_t* from, i64 step, i64 n, std::uint32_t* lines);
void columns_to_lines(const std::uint64_t* from, i64 step, i64 n, std::uint64_t* lines);
void lines_to_columns(const std::uint32_t* lines, i64 n, std::uint32_t* to, i64 step);
void lines_to_columns(const std::uint64_t* lines, i64 n, std::uint64_t* to, i64 step);
inline bool sorts_in_wide_registers(i64 key_bytes) {
  return key_bytes >= 4 && host_instructions() == Instructions::avx512;
}
#else
inline bool sorts_in_wide_registers(i64) { return false; }
template <class K>
void columns_to_lines(const K*, i64, i64, K*) {}
template <class K>
void lines_to_columns(const K*, i64, K*, i64) {}
#endif
template <class E>
bool sort_in_wide_registers(E*, i64) {
  return false;
}

template <class K>
KeyBits<K> bits_of_keys(const K* x, i64 n) {
  K least = x[0], most = x[0];
  wide([&] {
    for (i64 i = 0; i < n; ++i) {
      least = std::min(least, x[i]);
      most = std::max(most, x[i]);
    }
  });
  return {least, 0, static_cast<int>(std::bit_width(static_cast<K>(most - least)))};
}

// Few values, many of each: how often each occurs says all. `bits` are those in which they differ.
template <class T>
bool worth_counting(i64 n, int bits) {
  return sizeof(T) >= 4 && bits < 20 && (i64{1} << bits) <= n / 2 && n <= 0xffffffff;
}
template <class T, class K = std::make_unsigned_t<T>>
void counting_sort(T* x, K* count, i64 n, T least, i64 values) {
  std::fill(count, count + values, K(0));
  for (i64 i = 0; i < n; ++i) ++count[static_cast<K>(x[i]) - static_cast<K>(least)];
  for (i64 v = 0; v < values; ++v) {
    T* const end = x + count[v];
    std::fill(x, end, static_cast<T>(static_cast<K>(least) + static_cast<K>(v)));
    x = end;
  }
}

// Keys that are in the order of the bits below those given already. A pass of radix sort costs its
// 256 counters too: worth it from about that many items per byte of key.
template <class K>
void sort_keys(K* x, K* scratch, i64 n, const KeyBits<K>& bits) {
  if (sort_in_wide_registers(x, n)) return;
  if (n <= 24) return insertion_sort(x, n);
  if (n >= 32 * bits.digits()) return radix_sort(x, scratch, n, bits);
  std::sort(x, x + n);
}

template <class E>
void sort_row(E* x, E* scratch, i64 n) {
  if constexpr (std::is_unsigned_v<E>) {
    if (n < 128) return sort_keys<E>(x, scratch, n, {});
    const KeyBits<E> bits = bits_of_keys(x, n);
    if (bits.high == 0) return;
    if (worth_counting<E>(n, bits.high))
      return counting_sort(x, scratch, n, bits.least, i64{1} << bits.high);
    return sort_keys(x, scratch, n, bits);
  }
  if (n <= 24) return insertion_sort(x, n);
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
template <class E, class SortPiece>
void sort_long_row(E* x, E* scratch, i64 n, const SortPiece& sort_piece) {
  i64 pieces = 1;
  while (pieces < num_threads() && pieces < 64) pieces *= 2;
  auto bound = [&](i64 i) { return n / pieces * i + std::min(i, n % pieces); };
  parallel_for(pieces, 1, [&](i64 first, i64 last) {
    for (i64 i = first; i < last; ++i)
      sort_piece(x + bound(i), scratch + bound(i), bound(i + 1) - bound(i));
  });
  E *from = x, *to = scratch;
  for (i64 width = 1; width < pieces; width *= 2, std::swap(from, to))
    merge_level(from, to, pieces, width, bound);
  if (from != x)
    parallel_for(n, 1 << 16,
                 [&](i64 begin, i64 end) { std::copy(from + begin, from + end, x + begin); });
}

}  // namespace tessera
