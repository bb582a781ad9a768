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

// By registers, where the host has them, what divisions give one by one; in place too.
TYPED_TEST(Divisors, GiveRowsOfQuotients) {
  const std::vector<TypeParam> x = numbers<TypeParam>();
  const i64 n = static_cast<i64>(x.size());
  for (const TypeParam d : x) {
    const Divisor<TypeParam> by(d);
    if (!by.has_reciprocal()) continue;
    std::vector<TypeParam> apart(x.size(), TypeParam(99)), in_place = x;
    const i64 done = by.quotients(x.data(), apart.data(), n);
    ASSERT_EQ(by.quotients(in_place.data(), in_place.data(), n), done);
    for (i64 i = 0; i < n; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      const TypeParam quotient = element::floor_divide{}(x[k], d);
      EXPECT_EQ(apart[k], i < done ? quotient : TypeParam(99)) << +x[k] << " // " << +d;
      EXPECT_EQ(in_place[k], i < done ? quotient : x[k]) << +x[k] << " // " << +d;
    }
  }
}

}  // namespace
}  // namespace tessera
