// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/combine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

template <class T>
T combined(T a, T b, Combine op) {
  combine(&a, &b, 1, dtype_of<T>, op);
  return a;
}

TEST(Combine, MinimaAndMaximaKeepNaNs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Combine op : {Combine::min, Combine::max}) {
    EXPECT_TRUE(std::isnan(combined(nan, 1.0, op)));
    EXPECT_TRUE(std::isnan(combined(1.0, nan, op)));
    EXPECT_TRUE(std::isnan(static_cast<float>(combined(Half(1), Half(NAN), op))));
    EXPECT_TRUE(std::isnan(combined(c128(1, nan), c128(5, 5), op).im));
  }
}

TEST(Combine, ComplexNumbersCompareByRealThenImaginaryPart) {
  EXPECT_EQ(combined(c64(1, 9), c64(1, 2), Combine::min), c64(1, 2));
  EXPECT_EQ(combined(c64(2, 0), c64(1, 9), Combine::max), c64(2, 0));
  EXPECT_EQ(combined(c64(1, 2), c64(3, 4), Combine::prod), c64(-5, 10));
}

TEST(Combine, BoolsAndIntegers) {
  EXPECT_EQ(combined(true, true, Combine::sum), true);
  EXPECT_EQ(combined(true, false, Combine::prod), false);
  EXPECT_EQ(combined<std::uint8_t>(200, 100, Combine::sum), 44);
  EXPECT_EQ(combined<std::int8_t>(-128, -1, Combine::sum), 127);
  EXPECT_EQ(combined<std::int64_t>(INT64_MAX, 1, Combine::sum), INT64_MIN);
  EXPECT_EQ(combined<std::int16_t>(-3, 2, Combine::min), -3);
  EXPECT_EQ(combined<std::uint64_t>(~0ull, 2, Combine::max), ~0ull);
  EXPECT_EQ(combined<std::int32_t>(-3, 0, Combine::logical_and), 0);
  EXPECT_EQ(combined<std::int32_t>(-3, 0, Combine::logical_or), 1);
}

TEST(Combine, HalvesComputeInFloat) {
  EXPECT_EQ(static_cast<float>(combined(Half(1.5f), Half(2.25f), Combine::sum)), 3.75f);
  EXPECT_EQ(static_cast<float>(combined(BFloat16(3), BFloat16(-2), Combine::prod)), -6.0f);
  EXPECT_EQ(static_cast<float>(combined(Half(0), Half(-2), Combine::logical_or)), 1.0f);
}

}  // namespace
}  // namespace tessera
