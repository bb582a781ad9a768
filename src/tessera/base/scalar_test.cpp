// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/scalar.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

// FNV-1a over 32-bit values: NumPy's results over all inputs, told in one number.
struct Hash {
  std::uint64_t value = 14695981039346656037u;
  void add(std::uint32_t v) { value = (value ^ v) * 1099511628211u; }
};

Half half_of_bits(unsigned bits) {
  Half h;
  h.bits = static_cast<std::uint16_t>(bits);
  return h;
}

TEST(Half, AllValuesWidenAsNumPys) {
  Hash hash;
  for (unsigned b = 0; b < 65536; ++b) {
    const float f = half_of_bits(b);
    const bool nan = (b & 0x7c00) == 0x7c00 && (b & 0x3ff) != 0;
    EXPECT_EQ(std::isnan(f), nan);
    if (!nan) {
      hash.add(float_bits(f));
      EXPECT_EQ(Half(f).bits, b);  // and come back
    }
  }
  EXPECT_EQ(hash.value, 11876987533077745645u);
}

// The hard cases of narrowing: the middle between two neighbours, and the floats just beside it.
TEST(Half, MiddlesRoundAsNumPys) {
  Hash hash;
  const auto middle = [](unsigned b) {
    const double low = half_of_bits(b),
                 high = b == 0x7bff ? 65536.0 : double(float(half_of_bits(b + 1)));
    return static_cast<float>((low + high) / 2);
  };
  for (unsigned b = 0; b < 0x7c00; ++b) hash.add(Half(middle(b)).bits);
  for (unsigned b = 0; b < 0x7c00; ++b) hash.add(Half(std::nextafter(middle(b), 0.0f)).bits);
  for (unsigned b = 0; b < 0x7c00; ++b)
    hash.add(Half(std::nextafter(middle(b), std::numeric_limits<float>::infinity())).bits);
  EXPECT_EQ(hash.value, 5645838536084158245u);
}

TEST(Half, SpecialValues) {
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
  EXPECT_EQ(Half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_TRUE(std::isnan(float(Half(std::nanf("")))));
  EXPECT_EQ(Half(1e-30f).bits, 0);
}

// Nearest value with ties to even, found by looking at the neighbours: no bit tricks shared with
// the code.
TEST(BFloat16, RoundsToNearestEven) {
  const auto value = [](unsigned b) { return double(bits_float(b << 16)); };
  for (unsigned b = 0; b < 0x7f7f; ++b) {
    BFloat16 x;
    x.bits = static_cast<std::uint16_t>(b);
    ASSERT_EQ(double(float(x)), value(b));
    ASSERT_EQ(BFloat16(float(x)).bits, b);
    const auto mid = static_cast<float>((value(b) + value(b + 1)) / 2);
    for (const float f : {mid, std::nextafter(mid, 0.0f), std::nextafter(mid, INFINITY)}) {
      const double below = f - value(b), above = value(b + 1) - f;
      const unsigned expected = below < above ? b : above < below ? b + 1 : b % 2 == 0 ? b : b + 1;
      ASSERT_EQ(BFloat16(f).bits, expected) << f;
      ASSERT_EQ(BFloat16(-f).bits, expected | 0x8000u) << f;
    }
  }
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(float(BFloat16(bits_float(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(float(BFloat16(bits_float(0xffffffffu)))));
}

TEST(Complex, ArithmeticAgreesWithTheStandard) {
  const c128 a(1.5, -2.25), b(-0.5, 3.0);
  const std::complex<double> sa = a, sb = b;
  EXPECT_EQ(std::complex<double>(a + b), sa + sb);
  EXPECT_EQ(std::complex<double>(a - b), sa - sb);
  EXPECT_EQ(std::complex<double>(a * b), sa * sb);
  EXPECT_EQ(std::complex<double>(-a), -sa);
  EXPECT_EQ(std::complex<double>(conj(a)), std::conj(sa));
  EXPECT_TRUE(std::abs(std::complex<double>(a / b) - sa / sb) < 1e-15);
  EXPECT_TRUE(std::abs(std::complex<double>(b / a) - sb / sa) < 1e-15);
  c128 c = a;
  c += b;
  c *= b;
  EXPECT_EQ(c, (a + b) * b);
  EXPECT_NE(a, b);
  EXPECT_EQ(sizeof(c64), sizeof(std::complex<float>));
  const c128 huge = c128(1e300, 1e300) / c128(1e300, 1e300);
  EXPECT_TRUE(std::abs(huge.re - 1) < 1e-15 && huge.im == 0);  // no overflow on the way
  const c128 zero = c128(1, 1) / c128(0, 0);
  EXPECT_TRUE(std::isinf(zero.re));
}

}  // namespace
}  // namespace tessera
