// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/dtype.hpp"

#include <array>

namespace tessera {
namespace {
constexpr std::array<std::string_view, dtype_count> names{
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};

// The smallest float type that NumPy pairs with an integer type.
DType float_for(DType t) {
  switch (t) {
    case DType::b1:
    case DType::i8:
    case DType::u8: return DType::f16;
    case DType::i16:
    case DType::u16: return DType::f32;
    default: return DType::f64;
  }
}

DType promote_integers(DType a, DType b) {
  if (is_signed_int(a) == is_signed_int(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType s = is_signed_int(a) ? a : b, u = is_signed_int(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  switch (size_of(u)) {
    case 1: return DType::i16;
    case 2: return DType::i32;
    case 4: return DType::i64;
    default: return DType::f64;  // int64 with uint64, as NumPy
  }
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (size_of(a) == size_of(b)) return DType::f32;  // float16 with bfloat16
  return size_of(a) > size_of(b) ? a : b;
}

int kind(DType t) { return t == DType::b1 ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }
}  // namespace

std::string_view name(DType t) { return names[static_cast<std::size_t>(t)]; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < dtype_count; ++i)
    if (names[static_cast<std::size_t>(i)] == text) return static_cast<DType>(i);
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::b1) return b;
  if (b == DType::b1) return a;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_complex(a) || is_complex(b)) {
    const DType ra = is_integer(a) ? float_for(a) : real_of(a),
                rb = is_integer(b) ? float_for(b) : real_of(b);
    return promote_floats(ra, rb) == DType::f64 ? DType::c128 : DType::c64;
  }
  if (is_integer(a)) a = a == DType::i8 || a == DType::u8 ? b : float_for(a);
  if (is_integer(b)) b = b == DType::i8 || b == DType::u8 ? a : float_for(b);
  return promote_floats(a, b);
}

DType promote(std::span<const DType> types) {
  DType result = types.front();
  bool any = false;
  for (const bool inexact : {true, false})
    for (DType t : types)
      if (is_inexact(t) == inexact) {
        result = any ? promote(result, t) : t;
        any = true;
      }
  return result;
}

bool can_cast_same_kind(DType from, DType to) {
  if (from == to || kind(from) < kind(to)) return true;
  if (kind(from) > kind(to)) return false;
  // int -> uint is not "same kind" for NumPy; uint -> int is.
  return !(is_signed_int(from) && is_unsigned_int(to));
}

}  // namespace tessera
