// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/cast.hpp"

#include <cstring>

#include "tessera/kernels/copy/cast_rows.hpp"
#include "tessera/kernels/wide_stores.hpp"

namespace tessera {
namespace {

// One element n times.
template <class T>
void fill_elements(T* to, const T& v, i64 n) {
  constexpr std::byte none[sizeof(T)] = {};
  // Some processors clear whole lines at once.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are compared, not numbers
  if (std::memcmp(&v, none, sizeof v) == 0) {
    std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  wide_stores(n * static_cast<i64>(sizeof(T)), [=] {
#pragma GCC unroll 4
    for (i64 i = 0; i < n; ++i) to[i] = v;
  });
}

// Every Step-th element: turned around, or each second one, in registers where there are some.
template <int Step, class T>
void copy_steps(const T* from, T* to, i64 n) {
  wide_stores(n * static_cast<i64>(sizeof(T)), [=] {
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i) to[i] = from[Step * i];
  });
}

template <class T>
void copy_elements(const void* from, i64 from_step, void* to, i64 to_step, i64 n) {
  constexpr i64 size = sizeof(T);
  const auto* a = static_cast<const std::byte*>(from);
  auto* b = static_cast<std::byte*>(to);
  if (to_step == size && from_step % size == 0) {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    switch (from_step / size) {
      case 1:
        if (from != to) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
        return;
      case 0: return fill_elements(y, T(*x), n);
      case 2: return copy_steps<2>(x, y, n);
      case -1: return copy_steps<-1>(x, y, n);
      default: break;
    }
  }
  const auto copy = [&](i64 i) {
    *reinterpret_cast<T*>(b + i * to_step) = *reinterpret_cast<const T*>(a + i * from_step);
  };
  i64 i = 0;
  for (; i + 4 <= n; i += 4, a += 4 * from_step, b += 4 * to_step) {
    copy(0);
    copy(1);
    copy(2);
    copy(3);
  }
  for (i64 k = 0; i < n; ++i, ++k) copy(k);
}

CastRow copy_row(i64 bytes) {
  switch (bytes) {
    case 1: return &copy_elements<std::uint8_t>;
    case 2: return &copy_elements<std::uint16_t>;
    case 4: return &copy_elements<std::uint32_t>;
    case 8: return &copy_elements<std::uint64_t>;
    default: return &copy_elements<c128>;
  }
}

}  // namespace

CastRow cast_row(DType from, DType to) {
  if (from == to) return copy_row(size_of(from));
  CastRow row = nullptr;
  dispatch<TESSERA_ALL_TYPES>(from, "cast", [&]<class From>() { row = cast_from<From>(to); });
  return row;
}

Element element_of(const Value& v, DType rounded, DType stored) {
  Element exact{}, e{};
  dispatch<TESSERA_ALL_TYPES>(rounded, "scalar", [&]<class T>() {
    T t;
    if (v.kind() == Value::Kind::complex)
      t = cast_element<T>(v.as<c128>());
    else if (v.kind() == Value::Kind::real)
      t = cast_element<T>(v.as<double>());
    else if (v.kind() == Value::Kind::natural)
      t = convert<T>(v.as<std::uint64_t>());
    else
      t = convert<T>(v.as<i64>());
    std::memcpy(&exact, &t, sizeof t);
  });
  cast_row(rounded, stored)(&exact, size_of(rounded), &e, size_of(stored), 1);
  return e;
}

}  // namespace tessera
