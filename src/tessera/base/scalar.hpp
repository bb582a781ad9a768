// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number types that C++ lacks, usable by g++ and nvcc alike: Half, BFloat16 (storage types:
// arithmetic is done in float) and Complex<T>, laid out as std::complex<T>. Complex products are
// the plain four multiplications, as NumPy's; no infinity repair.
//   Complex<float> z = conj(a) * b;   float f = Half(1.5f);

#include <bit>
#include <complex>

#include "tessera/base/api.hpp"

namespace tessera {

TESSERA_HOST_DEVICE inline std::uint32_t float_bits(float f) {
  return __builtin_bit_cast(std::uint32_t, f);
}
TESSERA_HOST_DEVICE inline float bits_float(std::uint32_t u) {
  return __builtin_bit_cast(float, u);
}

TESSERA_HOST_DEVICE inline float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  std::uint32_t exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 0x1f) return bits_float(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {  // zero and subnormals: exact in float
    const float f = static_cast<float>(mantissa) * 5.9604644775390625e-08f;
    return bits_float(sign | float_bits(f));
  }
  return bits_float(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

TESSERA_HOST_DEVICE inline std::uint16_t float_to_half(float f) {
  const std::uint32_t u = float_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
  if (a >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (a < 0x38800000u) {  // subnormal or zero: let float addition round to nearest even
    const float r = bits_float(a) + 0.5f;
    return static_cast<std::uint16_t>(sign | (float_bits(r) - 0x3f000000u));
  }
  const std::uint32_t odd = (a >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((a - 0x38000000u + 0xfffu + odd) >> 13));
}

struct Half {
  std::uint16_t bits;
  Half() = default;
  TESSERA_HOST_DEVICE Half(float f) : bits(float_to_half(f)) {}
  TESSERA_HOST_DEVICE operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
  std::uint16_t bits;
  BFloat16() = default;
  TESSERA_HOST_DEVICE BFloat16(float f) {
    const std::uint32_t u = float_bits(f);
    bits = (u & 0x7fffffffu) > 0x7f800000u
               ? static_cast<std::uint16_t>((u >> 16) | 0x40u)
               : static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  TESSERA_HOST_DEVICE operator float() const {
    return bits_float(static_cast<std::uint32_t>(bits) << 16);
  }
};

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
  Complex() = default;
  TESSERA_HOST_DEVICE constexpr Complex(T r, T i = T(0)) : re(r), im(i) {}
  template <class U>
  TESSERA_HOST_DEVICE explicit constexpr Complex(const Complex<U>& z)
      : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}
  Complex(const std::complex<T>& z) : re(z.real()), im(z.imag()) {}
  operator std::complex<T>() const { return {re, im}; }

  TESSERA_HOST_DEVICE Complex& operator+=(const Complex& b) {
    re += b.re;
    im += b.im;
    return *this;
  }
  TESSERA_HOST_DEVICE Complex& operator*=(const Complex& b) { return *this = *this * b; }
  friend TESSERA_HOST_DEVICE Complex operator+(const Complex& a, const Complex& b) {
    return {a.re + b.re, a.im + b.im};
  }
  friend TESSERA_HOST_DEVICE Complex operator-(const Complex& a, const Complex& b) {
    return {a.re - b.re, a.im - b.im};
  }
  friend TESSERA_HOST_DEVICE Complex operator-(const Complex& a) { return {-a.re, -a.im}; }
  friend TESSERA_HOST_DEVICE Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method: no overflow for large components.
  friend TESSERA_HOST_DEVICE Complex operator/(const Complex& a, const Complex& b) {
    const T br = b.re < 0 ? -b.re : b.re, bi = b.im < 0 ? -b.im : b.im;
    if (br >= bi) {
      if (br == 0 && bi == 0) return {a.re / br, a.im / br};
      const T ratio = b.im / b.re, scale = T(1) / (b.re + b.im * ratio);
      return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    const T ratio = b.re / b.im, scale = T(1) / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
  }
  friend TESSERA_HOST_DEVICE bool operator==(const Complex& a, const Complex& b) {
    return a.re == b.re && a.im == b.im;
  }
  friend TESSERA_HOST_DEVICE bool operator!=(const Complex& a, const Complex& b) {
    return !(a == b);
  }
};

template <class T>
TESSERA_HOST_DEVICE inline Complex<T> conj(const Complex<T>& z) {
  return {z.re, -z.im};
}

using c64 = Complex<float>;
using c128 = Complex<double>;

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<Complex<T>> = true;

}  // namespace tessera
