// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/precision.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Precision, OfEveryCapability) {
  for (const Capability c : {Capability{3, 5}, {6, 0}, {7, 0}, {8, 0}, {9, 0}, {10, 0}})
    EXPECT_EQ(quick_dtype(double_rate_of(c)), DType::f64) << c.major << '.' << c.minor;
  for (const Capability c : {Capability{5, 2},
                             {6, 1},
                             {6, 2},
                             {7, 2},
                             {7, 5},
                             {8, 6},
                             {8, 7},
                             {8, 9},
                             {10, 3},
                             {11, 0},
                             {12, 0},
                             {12, 1}})
    EXPECT_EQ(quick_dtype(double_rate_of(c)), DType::f32) << c.major << '.' << c.minor;
  for (const Capability c : {Capability{2, 0}, {13, 0}, {0, 0}}) {
    EXPECT_FALSE(double_rate_of(c)) << c.major;
    EXPECT_EQ(quick_dtype(double_rate_of(c)), DType::f64) << c.major;
  }
}

TEST(Precision, ReadsTheDetailsOfADevice) {
  const auto h200 = capability_in("compute capability 9.0, 132 multiprocessors, 60 MiB L2");
  ASSERT_TRUE(h200);
  EXPECT_EQ(h200->major, 9);
  EXPECT_EQ(h200->minor, 0);
  const auto b300 = capability_in("compute capability 10.3, more");
  ASSERT_TRUE(b300);
  EXPECT_EQ(b300->major, 10);
  EXPECT_EQ(b300->minor, 3);
  for (const char* none : {"", "16 cores", "compute capability ", "compute capability 9",
                           "compute capability 9.", "compute capability x.y"})
    EXPECT_FALSE(capability_in(none)) << none;
}

}  // namespace
}  // namespace tessera
