// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/divisor.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace tessera {
namespace {

// Both ends of the range and its middle, small numbers of either sign, and random ones of any
// length.
template <class T>
std::vector<T> numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all{Limits::min(),
                     static_cast<T>(Limits::min() + 1),
                     Limits::max(),
                     static_cast<T>(Limits::max() - 1),
                     static_cast<T>(Limits::max() / 2),
                     static_cast<T>(Limits::max() / 2 + 1)};
  for (int i = -10; i <= 10; ++i) all.push_back(static_cast<T>(i));
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) all.push_back(static_cast<T>(random() >> random() % 64));
  return all;
}

template <class T>
class Divisors : public ::testing::Test {};
using IntegerTypes = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                      std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Divisors, IntegerTypes);

TYPED_TEST(Divisors, GiveQuotientsAndRestsOfDivisions) {
  for (const TypeParam d : numbers<TypeParam>()) {
    const Divisor<TypeParam> by(d);
    if (!by.has_reciprocal()) continue;
    for (const TypeParam x : numbers<TypeParam>()) {
      EXPECT_EQ(by.quotient(x), element::floor_divide{}(x, d)) << +x << " // " << +d;
      EXPECT_EQ(by.rest(x), element::remainder{}(x, d)) << +x << " % " << +d;
    }
  }
}

}  // namespace
}  // namespace tessera
