// SPDX-License-Identifier: Apache-2.0
#pragma once
// Truth values of rows: whether any or all elements are not zero, and how many. Blocks of
// comparisons are joined without a branch, and a row is left as soon as it is settled. Private to
// the cpu's reductions.
//   bool some = TruthLoops<float, true>::found(x, n);   i64 many = CountLoops<bool>::counted(x, n);

#include "tessera/kernels/copy/cast_rows.hpp"
#include "tessera/kernels/reduce/reduce_cpu.hpp"
#include "tessera/kernels/reduce/reduce_rows.hpp"
#include "tessera/kernels/register.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

// What has the same truth values: a byte that is not zero is true, of whatever type.
template <class T>
using TruthOf = std::conditional_t<std::is_integral_v<T> && sizeof(T) == 1, bool,
                                   typename WithoutSign<T>::type>;

// What a comparison of two elements is noted in: of their width, so that registers hold as many.
template <class T>
using Mark = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

#if defined(__aarch64__)
// What is compared in registers: numbers of one part, bool as the bytes in which it is stored.
// Elsewhere the compiler's own loops are as good, and wider (wide.hpp).
template <class T>
inline constexpr bool has_registers = !is_complex_v<T>;
// Comparisons of a register are integers of the same width, all bits set where they hold.
template <class T>
using Held = decltype(Register<Stored<T>>{} == Register<Stored<T>>{});
template <class Mask>
TESSERA_INLINE bool any_lane(const Mask& m) {
  std::uint64_t half[2];
  std::memcpy(half, &m, sizeof half);
  return (half[0] | half[1]) != 0;
}
inline constexpr bool short_blocks = true;  // of eight registers
#else
inline constexpr bool short_blocks = false;
#endif

// Any: looks for an element that is not zero. All: for one that is, and gives the opposite.
template <class T, bool Any>
struct TruthLoops {
  static bool sought(const Stored<T>* x) { return convert<bool>(load_element<T>(x)) == Any; }
  template <i64 length>
  TESSERA_INLINE static bool any_of(const Stored<T>* x) {
#if defined(__aarch64__)
    if constexpr (has_registers<T>) {
      Held<T> held{};
#pragma GCC unroll 8
      for (i64 k = 0; k < length / lanes<Stored<T>>; ++k) {
        const auto v = load_register(x + k * lanes<Stored<T>>);
        held |= Any ? v != Register<Stored<T>>{} : v == Register<Stored<T>>{};
      }
      return any_lane(held);
    }
#endif
    Mark<T> held = 0;
    for (i64 j = 0; j < length; ++j) held |= static_cast<Mark<T>>(sought(x + j));
    return held != 0;
  }

  // Whether what is looked for is among n elements. A short block comes first: often it stands near
  // the beginning.
  TESSERA_INLINE static bool found(const Stored<T>* x, i64 n) {
    constexpr i64 few = 64 / sizeof(T), many = short_blocks ? 2 * few : 8 * few;
    i64 i = 0;
    const auto block = [&]<i64 length>(std::integral_constant<i64, length>) {
      const bool held = any_of<length>(x + i);
      i += length;
      return held;
    };
    if (few <= n && block(std::integral_constant<i64, few>{})) return true;
    while (i + many <= n)
      if (block(std::integral_constant<i64, many>{})) return true;
    while (i + few <= n)
      if (block(std::integral_constant<i64, few>{})) return true;
    for (; i < n; ++i)
      if (sought(x + i)) return true;
    return false;
  }
  static void row(const void* a, const void*, i64 n, i64, void* accumulator) {
    wide([=] {
      *static_cast<bool*>(accumulator) = found(static_cast<const Stored<T>*>(a), n) == Any;
    });
  }
  static void spread(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    auto* s = static_cast<std::uint8_t*>(accumulators);
    wide([=] {
#pragma GCC ivdep
      for (i64 j = 0; j < n; ++j) s[j] = sought(x + j) == Any;
    });
  }
  static void lanes_of(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    auto* s = static_cast<std::uint8_t*>(accumulators);
    wide([=] {
#pragma GCC ivdep
      for (i64 j = 0; j < n; ++j) {
        const std::uint8_t truth = convert<bool>(load_element<T>(x + j));
        s[j] = static_cast<std::uint8_t>(Any ? s[j] | truth : s[j] & truth);
      }
    });
  }
  // Whether what is looked for is at place j of some of the rows. Bytes of bool are joined first:
  // their largest is not zero where one is not, their smallest is zero where one is.
  template <std::size_t rows>
  TESSERA_INLINE static bool in_rows(const Stored<T>* const (&x)[rows], i64 j) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t all = x[0][j];
      for (std::size_t k = 1; k < rows; ++k)
        all = Any ? std::max<std::uint8_t>(all, x[k][j]) : std::min<std::uint8_t>(all, x[k][j]);
      return (all != 0) == Any;
    } else {
      bool held = false;
      for (std::size_t k = 0; k < rows; ++k) held |= sought(x[k] + j);
      return held;
    }
  }
  // Several rows at once, and no more of them once each column has what is looked for.
  static void columns(const void* a, i64 step, i64 rows, i64 n, void* accumulators) {
    auto* s = static_cast<std::uint8_t*>(accumulators);
    const auto row = [=](i64 r) {
      return reinterpret_cast<const Stored<T>*>(static_cast<const std::byte*>(a) + r * step);
    };
    constexpr i64 until_look = 64;
    wide([=] {
      std::fill_n(s, n, std::uint8_t{0});
      for (i64 r = 0; r < rows;) {
        const i64 end = std::min(rows, r + until_look);
        for (; r + 8 <= end; r += 8) {
          const Stored<T>* const x[8] = {row(r),     row(r + 1), row(r + 2), row(r + 3),
                                         row(r + 4), row(r + 5), row(r + 6), row(r + 7)};
#pragma GCC ivdep
          for (i64 j = 0; j < n; ++j) s[j] |= static_cast<std::uint8_t>(in_rows(x, j));
        }
        for (; r < end; ++r) {
          const Stored<T>* const x[1] = {row(r)};
#pragma GCC ivdep
          for (i64 j = 0; j < n; ++j) s[j] |= static_cast<std::uint8_t>(in_rows(x, j));
        }
        if (!std::memchr(s, 0, static_cast<std::size_t>(n))) break;
      }
      if constexpr (!Any)
        for (i64 j = 0; j < n; ++j) s[j] ^= 1;
    });
  }
  static void combine(void* left, const void* right, i64 n) {
    auto* s = static_cast<std::uint8_t*>(left);
    const auto* t = static_cast<const std::uint8_t*>(right);
    for (i64 j = 0; j < n; ++j) s[j] = static_cast<std::uint8_t>(Any ? s[j] | t[j] : s[j] & t[j]);
  }
  static void finish(const void* accumulators, i64 n, void* results) {
    std::memcpy(results, accumulators, static_cast<std::size_t>(n));
  }
  static void identity(void* accumulator) { *static_cast<bool*>(accumulator) = !Any; }
  static bool settled(const void* accumulator) {
    return *static_cast<const bool*>(accumulator) == Any;
  }
};

template <class T>
struct CountLoops {
  // count[j] = how many of x[j], x[width + j], ... are not zero.
  template <std::size_t width>
  TESSERA_INLINE static void add_rows(const Stored<T>* x, i64 steps, Mark<T> (&count)[width]) {
#if defined(__aarch64__)
    if constexpr (has_registers<T>) {
      constexpr i64 together = width / lanes<Stored<T>>;
      Register<Mark<T>> counts[together] = {};  // unsigned: a byte counts to 255
      for (i64 step = 0; step < steps; ++step, x += width)
#pragma GCC unroll 8
        for (i64 k = 0; k < together; ++k)
          counts[k] -= reinterpret_cast<Register<Mark<T>>>(
              load_register(x + k * lanes<Stored<T>>) != Register<Stored<T>>{});
      std::memcpy(count, counts, sizeof count);
      return;
    }
#endif
    for (i64 step = 0; step < steps; ++step, x += width)
      for (std::size_t j = 0; j < width; ++j)
        count[j] += static_cast<Mark<T>>(convert<bool>(load_element<T>(x + j)));
  }
  TESSERA_INLINE static i64 counted(const Stored<T>* x, i64 n) {
    constexpr i64 width = 128 / sizeof(T), most = 255;  // what a byte can count to
    i64 total = 0, i = 0;
    while (i + width <= n) {
      Mark<T> count[width] = {};
      const i64 steps = std::min(most, (n - i) / width);
      add_rows(x + i, steps, count);
      i += steps * width;
      for (const Mark<T> c : count) total += static_cast<i64>(c);
    }
    for (; i < n; ++i) total += convert<bool>(load_element<T>(x + i));
    return total;
  }
  static void row(const void* a, const void*, i64 n, i64, void* accumulator) {
    wide([=] { *static_cast<i64*>(accumulator) = counted(static_cast<const Stored<T>*>(a), n); });
  }
  static void spread(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    for (i64 j = 0; j < n; ++j)
      static_cast<i64*>(accumulators)[j] = convert<bool>(load_element<T>(x + j));
  }
  static void lanes_of(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    auto* s = static_cast<i64*>(accumulators);
    wide([=] {
#pragma GCC ivdep
      for (i64 j = 0; j < n; ++j) s[j] += convert<bool>(load_element<T>(x + j));
    });
  }
  static void combine(void* left, const void* right, i64 n) {
    for (i64 j = 0; j < n; ++j) static_cast<i64*>(left)[j] += static_cast<const i64*>(right)[j];
  }
  static void finish(const void* accumulators, i64 n, void* results) {
    std::memcpy(results, accumulators, static_cast<std::size_t>(n) * sizeof(i64));
  }
  static void identity(void* accumulator) { *static_cast<i64*>(accumulator) = 0; }
};

template <class Loops>
ReduceFns truth_fns(i64 accumulator, DType result) {
  ReduceFns f{.accumulator = accumulator,
              .result = result,
              .row = &Loops::row,
              .spread = &Loops::spread,
              .lanes = &Loops::lanes_of,
              .combine = &Loops::combine,
              .finish = &Loops::finish,
              .identity = &Loops::identity};
  if constexpr (requires { &Loops::settled; }) f.settled = &Loops::settled;
  if constexpr (requires { &Loops::columns; }) f.columns = &Loops::columns;
  return f;
}

}  // namespace tessera
