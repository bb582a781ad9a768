// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types: their names, sizes, promotion (NumPy's table) and the one way from a run-time
// DType to a compile-time type. Weak Python scalars are handled where they enter (the bindings),
// not here.
//   dispatch<float, double>(dtype, "fft", [&]<class T>() { run<T>(); });

#include <optional>
#include <span>
#include <string_view>

#include "tessera/base/error.hpp"
#include "tessera/base/scalar.hpp"

namespace tessera {

enum class DType : std::uint8_t {
  b1,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128
};
inline constexpr int dtype_count = 15;

inline constexpr i64 size_of(DType t) {
  // Logarithms, a digit for each dtype: a table would be copied onto the stack at every call.
  return i64{1} << (0x433211321032100 >> 4 * static_cast<int>(t) & 15);
}
inline constexpr bool is_complex(DType t) { return t >= DType::c64; }
inline constexpr bool is_float(DType t) { return t >= DType::f16 && t <= DType::f64; }
inline constexpr bool is_signed_int(DType t) { return t >= DType::i8 && t <= DType::i64; }
inline constexpr bool is_unsigned_int(DType t) { return t >= DType::u8 && t <= DType::u64; }
inline constexpr bool is_integer(DType t) { return t >= DType::i8 && t <= DType::u64; }
inline constexpr bool is_inexact(DType t) { return t >= DType::f16; }

TESSERA_API std::string_view name(DType t);  // "float32"
TESSERA_API std::optional<DType> parse_dtype(std::string_view name);
inline std::string to_text(DType t) { return std::string(name(t)); }

// NumPy's result type of two arrays; bfloat16 with float16 gives float32.
TESSERA_API DType promote(DType a, DType b);
// Of several: floats first, then each integer with them, as NumPy (int8, uint8, float16 ->
// float16).
TESSERA_API DType promote(std::span<const DType> types);
// True when NumPy's casting="same_kind" allows it: down-casts within a kind, never complex to real.
TESSERA_API bool can_cast_same_kind(DType from, DType to);
inline constexpr DType real_of(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}
// The complex type that holds t without loss of NumPy's precision rules (float32, float16 ->
// complex64).
inline constexpr DType complex_of(DType t) {
  return t == DType::c64 || t == DType::f32 || t == DType::f16 || t == DType::bf16 ? DType::c64
                                                                                   : DType::c128;
}

template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "not an element type");
  return DType::b1;
}();
template <>
inline constexpr DType dtype_of<bool> = DType::b1;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<std::int16_t> = DType::i16;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<std::uint16_t> = DType::u16;
template <>
inline constexpr DType dtype_of<std::uint32_t> = DType::u32;
template <>
inline constexpr DType dtype_of<std::uint64_t> = DType::u64;
template <>
inline constexpr DType dtype_of<Half> = DType::f16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<c64> = DType::c64;
template <>
inline constexpr DType dtype_of<c128> = DType::c128;
template <>
inline constexpr DType dtype_of<std::complex<float>> = DType::c64;
template <>
inline constexpr DType dtype_of<std::complex<double>> = DType::c128;

// Calls f.operator()<T>() for the T in Ts whose dtype is t; DTypeError with the list otherwise.
template <class... Ts, class F>
void dispatch(DType t, std::string_view who, F&& f) {
  bool found = ((t == dtype_of<Ts> ? (f.template operator()<Ts>(), true) : false) || ...);
  if (!found) [[unlikely]] {
    std::string known;
    ((known += known.empty() ? "" : ", ", known += name(dtype_of<Ts>)), ...);
    throw DTypeError(cat(who, ": no kernel for ", name(t), "; has ", known));
  }
}
#define TESSERA_ALL_TYPES                                                                   \
  bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, \
      std::uint32_t, std::uint64_t, ::tessera::Half, ::tessera::BFloat16, float, double,    \
      ::tessera::c64, ::tessera::c128

}  // namespace tessera
