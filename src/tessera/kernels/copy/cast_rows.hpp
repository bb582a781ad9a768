// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops behind cast_row: instantiated in several files so that no file compiles long. Not for
// others.
//   CastRow f = cast_from<float>(DType::i8);

#include <type_traits>

#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/wide_stores.hpp"

namespace tessera {

// A bool in memory may hold any byte: memory of others, or poison. It is read as one.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
template <class T>
inline T load_element(const void* p) {
  if constexpr (std::is_same_v<T, bool>)
    return *static_cast<const std::uint8_t*>(p) != 0;
  else
    return *static_cast<const T*>(p);
}

// convert(), alike in every register. Of floats that an integer does not hold, a loop in vector
// registers and what is left over at its end may go through different instructions, which do not
// agree (double to uint64 with AVX-512, double to int32 by way of int64 on aarch64). Those to int64
// agree on every processor, and so does whatever is made of them here.
template <class To, class From>
inline To cast_element(From x) {
  constexpr bool to_integer = std::is_integral_v<To> && !std::is_same_v<To, bool>;
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return cast_element<To>(static_cast<float>(x));
  } else if constexpr (is_complex_v<From> && to_integer) {
    return cast_element<To>(x.re);
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::uint64_t>) {
    constexpr From half_way = 0x1p63;
    const bool upper = x >= half_way;
    return static_cast<To>(static_cast<std::int64_t>(upper ? x - half_way : x)) ^
           (static_cast<To>(upper) << 63);
#if defined(__aarch64__)  // where one number is kept within bounds and a register of them is not
  } else if constexpr (std::is_same_v<From, double> && to_integer && sizeof(To) <= 4 &&
                       !std::is_same_v<To, std::uint32_t>) {
    return convert<To>(x < -0x1p31 ? -0x1p31 : x > 0x1p31 - 1 ? 0x1p31 - 1 : x);
#endif
  } else {
    return convert<To>(x);
  }
}

template <class From, class To>
void cast_elements(const void* from, i64 from_step, void* to, i64 to_step, i64 n) {
  wide_stores(n * static_cast<i64>(sizeof(To)), [=] {
    const auto* a = static_cast<const std::byte*>(from);
    auto* b = static_cast<std::byte*>(to);
    if (from_step == sizeof(From) && to_step == sizeof(To)) {
      const auto* x = static_cast<const Stored<From>*>(from);
      auto* y = static_cast<To*>(to);
      if constexpr (std::is_same_v<From, bool>) {  // a choice is vectorised, a conversion is not
        const To one = convert<To>(true), zero = convert<To>(false);
#pragma GCC ivdep
        for (i64 i = 0; i < n; ++i) y[i] = x[i] != 0 ? one : zero;
      } else {
#pragma GCC ivdep
        for (i64 i = 0; i < n; ++i) y[i] = cast_element<To>(load_element<From>(x + i));
      }
    } else {
      for (i64 i = 0; i < n; ++i, a += from_step, b += to_step)
        *reinterpret_cast<To*>(b) = cast_element<To>(load_element<From>(a));
    }
  });
}

template <class From>
CastRow cast_from(DType to) {
#define TESSERA_ROW(To) &cast_elements<From, To>
  static constexpr CastRow rows[dtype_count] = {
      TESSERA_ROW(bool),          TESSERA_ROW(std::int8_t),   TESSERA_ROW(std::int16_t),
      TESSERA_ROW(std::int32_t),  TESSERA_ROW(std::int64_t),  TESSERA_ROW(std::uint8_t),
      TESSERA_ROW(std::uint16_t), TESSERA_ROW(std::uint32_t), TESSERA_ROW(std::uint64_t),
      TESSERA_ROW(Half),          TESSERA_ROW(BFloat16),      TESSERA_ROW(float),
      TESSERA_ROW(double),        TESSERA_ROW(c64),           TESSERA_ROW(c128)};
#undef TESSERA_ROW
  return rows[static_cast<int>(to)];
}
extern template CastRow cast_from<bool>(DType);
extern template CastRow cast_from<std::int8_t>(DType);
extern template CastRow cast_from<std::int16_t>(DType);
extern template CastRow cast_from<std::int32_t>(DType);
extern template CastRow cast_from<std::int64_t>(DType);
extern template CastRow cast_from<std::uint8_t>(DType);
extern template CastRow cast_from<std::uint16_t>(DType);
extern template CastRow cast_from<std::uint32_t>(DType);
extern template CastRow cast_from<std::uint64_t>(DType);
extern template CastRow cast_from<Half>(DType);
extern template CastRow cast_from<BFloat16>(DType);
extern template CastRow cast_from<float>(DType);
extern template CastRow cast_from<double>(DType);
extern template CastRow cast_from<c64>(DType);
extern template CastRow cast_from<c128>(DType);

}  // namespace tessera
