// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/cast.hpp"

#include <cstring>

#include "tessera/kernels/copy/cast_rows.hpp"

namespace tessera {
namespace {

// One element n times. Four stores of a whole register in a step: as fast as the memory takes them.
template <class T>
void fill_elements(T* to, const T& v, i64 n) {
  typedef unsigned char Register __attribute__((vector_size(16)));
  constexpr i64 each = static_cast<i64>(sizeof(Register) / sizeof(T));
  T several[each];
  for (T& s : several) s = v;
  Register r;
  std::memcpy(&r, several, sizeof r);
  const Register none{};
  if (std::memcmp(&r, &none, sizeof r) == 0) {  // some processors clear whole lines at once
    std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  i64 i = 0;
  for (; i + 4 * each <= n; i += 4 * each)
    for (i64 k = 0; k < 4; ++k) std::memcpy(to + i + k * each, &r, sizeof r);
  for (; i < n; ++i) to[i] = v;
}

template <class T>
void copy_elements(const void* from, i64 from_step, void* to, i64 to_step, i64 n) {
  if (from_step == sizeof(T) && to_step == sizeof(T)) {
    if (from != to) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  const auto* a = static_cast<const std::byte*>(from);
  auto* b = static_cast<std::byte*>(to);
  if (from_step == 0 && to_step == sizeof(T)) {
    const T v = *static_cast<const T*>(from);
    return fill_elements(static_cast<T*>(to), v, n);
  }
  for (i64 i = 0; i < n; ++i, a += from_step, b += to_step)
    *reinterpret_cast<T*>(b) = *reinterpret_cast<const T*>(a);
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
      t = convert<T>(v.as<c128>());
    else if (v.kind() == Value::Kind::real)
      t = convert<T>(v.as<double>());
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
