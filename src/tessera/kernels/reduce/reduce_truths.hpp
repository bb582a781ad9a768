// SPDX-License-Identifier: Apache-2.0
#pragma once
// Truth values of rows: whether any or all elements are not zero, and how many. Registers of
// comparisons are joined without a branch, and a row is left as soon as it is settled. Private to
// the cpu's reductions.
//   bool some = TruthLoops<float, true>::found(x, n);   i64 many = CountLoops<bool>::counted(x, n);

#include "tessera/kernels/copy/cast_rows.hpp"
#include "tessera/kernels/reduce/reduce_cpu.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera {

// What is compared in registers: numbers of one part, bool as the bytes in which it is stored.
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

// Any: looks for an element that is not zero. All: for one that is, and gives the opposite.
template <class T, bool Any>
struct TruthLoops {
  static bool sought(const Stored<T>* x) { return convert<bool>(load_element<T>(x)) == Any; }

  // Whether what is looked for is among n elements.
  static bool found(const Stored<T>* x, i64 n) {
    i64 i = 0;
    if constexpr (has_registers<T>) {
      constexpr i64 together = 8;
      const Register<Stored<T>> zero{};
      for (; i + together * lanes<Stored<T>> <= n; i += together * lanes<Stored<T>>) {
        Held<T> held{};
#pragma GCC unroll 8
        for (i64 k = 0; k < together; ++k) {
          const auto v = load_register(x + i + k * lanes<Stored<T>>);
          held |= Any ? v != zero : v == zero;
        }
        if (any_lane(held)) return true;
      }
    }
    for (; i < n; ++i)
      if (sought(x + i)) return true;
    return false;
  }
  static void row(const void* a, const void*, i64 n, i64, void* accumulator) {
    *static_cast<bool*>(accumulator) = found(static_cast<const Stored<T>*>(a), n) == Any;
  }
  static void spread(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    auto* s = static_cast<std::uint8_t*>(accumulators);
#pragma GCC ivdep
    for (i64 j = 0; j < n; ++j) s[j] = sought(x + j) == Any;
  }
  static void lanes_of(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    auto* s = static_cast<std::uint8_t*>(accumulators);
#pragma GCC ivdep
    for (i64 j = 0; j < n; ++j) {
      const std::uint8_t truth = convert<bool>(load_element<T>(x + j));
      s[j] = static_cast<std::uint8_t>(Any ? s[j] | truth : s[j] & truth);
    }
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
};

template <class T>
struct CountLoops {
  static i64 counted(const Stored<T>* x, i64 n) {
    i64 total = 0, i = 0;
    if constexpr (has_registers<T>) {
      constexpr i64 together = 4, most = 127;  // what a lane of a signed byte can count to
      constexpr i64 width = together * lanes<Stored<T>>;
      const Register<Stored<T>> zero{};
      while (i + width <= n) {
        Held<T> count[together] = {};
        for (i64 step = 0; step < most && i + width <= n; ++step, i += width)
#pragma GCC unroll 4
          for (i64 k = 0; k < together; ++k)
            count[k] -= load_register(x + i + k * lanes<Stored<T>>) != zero;
        total += lanes_summed(count);
      }
    }
    for (; i < n; ++i) total += convert<bool>(load_element<T>(x + i));
    return total;
  }
  static void row(const void* a, const void*, i64 n, i64, void* accumulator) {
    *static_cast<i64*>(accumulator) = counted(static_cast<const Stored<T>*>(a), n);
  }
  static void spread(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    for (i64 j = 0; j < n; ++j)
      static_cast<i64*>(accumulators)[j] = convert<bool>(load_element<T>(x + j));
  }
  static void lanes_of(const void* a, const void*, i64 n, void* accumulators) {
    const auto* x = static_cast<const Stored<T>*>(a);
    auto* s = static_cast<i64*>(accumulators);
#pragma GCC ivdep
    for (i64 j = 0; j < n; ++j) s[j] += convert<bool>(load_element<T>(x + j));
  }
  static void combine(void* left, const void* right, i64 n) {
    for (i64 j = 0; j < n; ++j) static_cast<i64*>(left)[j] += static_cast<const i64*>(right)[j];
  }
  static void finish(const void* accumulators, i64 n, void* results) {
    std::memcpy(results, accumulators, static_cast<std::size_t>(n) * sizeof(i64));
  }
  static void identity(void* accumulator) { *static_cast<i64*>(accumulator) = 0; }

 private:
  template <class Mask, std::size_t N>
  static i64 lanes_summed(const Mask (&count)[N]) {
    std::make_unsigned_t<std::remove_cvref_t<decltype(count[0][0])>> all[N * lanes<Stored<T>>];
    static_assert(sizeof all == sizeof count);
    std::memcpy(all, count, sizeof all);
    i64 total = 0;
    for (const auto c : all) total += static_cast<i64>(c);
    return total;
  }
};

template <class Loops>
ReduceFns truth_fns(i64 accumulator, DType result) {
  return {.accumulator = accumulator,
          .result = result,
          .row = &Loops::row,
          .spread = &Loops::spread,
          .lanes = &Loops::lanes_of,
          .combine = &Loops::combine,
          .finish = &Loops::finish,
          .identity = &Loops::identity};
}

}  // namespace tessera
