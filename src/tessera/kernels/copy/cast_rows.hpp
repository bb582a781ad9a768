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
        for (i64 i = 0; i < n; ++i) y[i] = convert<To>(load_element<From>(x + i));
      }
    } else {
      for (i64 i = 0; i < n; ++i, a += from_step, b += to_step)
        *reinterpret_cast<To*>(b) = convert<To>(load_element<From>(a));
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
