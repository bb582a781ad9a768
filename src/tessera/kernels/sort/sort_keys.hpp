// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements as unsigned keys in the same order, and back: NaN above everything. Two zeros differ in
// bits but not in order: `equal_zeros` gives both one key (positions), else each keeps its own
// (values, put back by from_key). Complex numbers keep their parts and compare. Private to the
// cpu's sort.
//   auto k = SortKey<float>::key(-1.5f);   float f = SortKey<float>::value(k);

#include "tessera/base/dtype.hpp"
#include "tessera/kernels/sort/sort_rows.hpp"

namespace tessera {

template <class T>
struct SortKey {  // integers
  using Key = std::make_unsigned_t<T>;
  static constexpr bool exact = true;  // value(key(x)) is x for every x
  static constexpr Key flip = std::is_signed_v<T> ? Key(Key(1) << (8 * sizeof(T) - 1)) : Key(0);
  static Key key(T v, bool) { return static_cast<Key>(static_cast<Key>(v) ^ flip); }
  static T value(Key k) { return static_cast<T>(static_cast<Key>(k ^ flip)); }
};
template <>
struct SortKey<bool> {
  using Key = std::uint8_t;
  static constexpr bool exact = true;
  static Key key(bool v, bool) { return v; }
  static bool value(Key k) { return k != 0; }
};

// Floats: `exponent` are the bits of infinity.
template <class T, class K, K exponent>
struct FloatKey {
  using Key = K;
  static constexpr bool exact = false;  // NaNs lose their bits
  static constexpr K sign = K(K(1) << (8 * sizeof(K) - 1));
  static K bits(T v) { return __builtin_bit_cast(K, v); }
  static bool nan(T v) { return K(bits(v) & K(~sign)) > exponent; }
  static bool zero(T v) { return K(bits(v) & K(~sign)) == 0; }
  static bool negative(T v) { return (bits(v) & sign) != 0; }
  static K key(T v, bool equal_zeros) {
    if (nan(v)) return K(~K(0));
    const K b = bits(v);
    if (equal_zeros && b == sign) return sign;
    return (b & sign) ? K(~b) : K(b | sign);
  }
  static T value(K k) { return __builtin_bit_cast(T, (k & sign) ? K(k ^ sign) : K(~k)); }
};
template <>
struct SortKey<Half> : FloatKey<Half, std::uint16_t, 0x7c00> {};
template <>
struct SortKey<BFloat16> : FloatKey<BFloat16, std::uint16_t, 0x7f80> {};
template <>
struct SortKey<float> : FloatKey<float, std::uint32_t, 0x7f800000u> {};
template <>
struct SortKey<double> : FloatKey<double, std::uint64_t, 0x7ff0000000000000ull> {};

template <class R>
struct SortKey<Complex<R>> {
  using Key = ComplexKey<R>;
  static constexpr bool exact = true;
  static Key key(const Complex<R>& v, bool) { return {v.re, v.im}; }
  static Complex<R> value(const Key& k) { return {k.re, k.im}; }
};

// An element that is compared by its key; zeros of both signs are equal.
template <class T>
struct Valued {
  T value;
  auto sort_key() const { return SortKey<T>::key(value, true); }
};

}  // namespace tessera
