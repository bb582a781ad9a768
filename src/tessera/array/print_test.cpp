// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/print.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/arrays.hpp"
#include "tessera/array/index.hpp"
#include "tessera/base/trace.hpp"

namespace tessera {
namespace {

Array counted(const Shape& shape) {
  Array a(Storage::allocate(cpu, count_of(shape) * 8), Layout::contiguous(shape), DType::i64);
  for (i64 i = 0; i < a.size(); ++i) a.host<i64>()[i] = i;
  return a;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

TEST(Print, FloatsAsNumPy) {
  EXPECT_EQ(repr(filled<float>({2, 2}, {1, 2, 3, 4})),
            "array([[1., 2.],\n       [3., 4.]], dtype=float32)");
  EXPECT_EQ(to_text(filled<float>({2, 2}, {1, 2, 3, 4})), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ(repr(filled<double>({3}, {1.5, nan, -inf})), "array([ 1.5,  nan, -inf])");
  EXPECT_EQ(repr(filled<double>({2}, {nan, inf})), "array([nan, inf])");
  EXPECT_EQ(repr(filled<double>({2}, {1e-10, 1})), "array([1.e-10, 1.e+00])");
  EXPECT_EQ(repr(filled<double>({2}, {1e8, 1.5})), "array([1.0e+08, 1.5e+00])");
  EXPECT_EQ(repr(filled<double>({2}, {1e100, -1})), "array([ 1.e+100, -1.e+000])");
  EXPECT_EQ(repr(filled<double>({2}, {123456789.123, 0.001})),
            "array([1.23456789e+08, 1.00000000e-03])");
  EXPECT_EQ(repr(filled<float>({2}, {1.0f / 3, 2.0f / 3})),
            "array([0.33333334, 0.6666667 ], dtype=float32)");
  EXPECT_EQ(repr(filled<double>({1}, {2.0 / 3})), "array([0.66666667])");
  EXPECT_EQ(repr(filled<Half>({2}, {Half(0.1f), Half(0.25f)})),
            "array([0.1 , 0.25], dtype=float16)");
  EXPECT_EQ(repr(filled<BFloat16>({2}, {BFloat16(0.1f), BFloat16(3.f)})),
            "array([0.1, 3. ], dtype=bfloat16)");
  EXPECT_EQ(repr(filled<double>({2}, {-0.0, 0.0})), "array([-0.,  0.])");
}

TEST(Print, OtherTypesAsNumPy) {
  EXPECT_EQ(repr(filled<std::int8_t>({2}, {-1, 10})), "array([-1, 10], dtype=int8)");
  EXPECT_EQ(repr(filled<bool>({2}, {true, false})), "array([ True, False])");
  EXPECT_EQ(repr(filled<c128>({2}, {c128(1, 2), c128(3.5, -1)})), "array([1. +2.j, 3.5-1.j])");
  EXPECT_EQ(repr(filled<c128>({2}, {c128(1e-5, 1), c128(nan, 0)})),
            "array([1.e-05+1.j,    nan+0.j])");
  EXPECT_EQ(repr(filled<std::uint64_t>({1}, {~std::uint64_t{0}})),
            "array([18446744073709551615], dtype=uint64)");
}

TEST(Print, RankZeroAndEmpty) {
  EXPECT_EQ(repr(filled<double>({}, {3.5})), "array(3.5)");
  EXPECT_EQ(to_text(filled<double>({}, {3})), "3.0");
  EXPECT_EQ(to_text(filled<double>({}, {1e16})), "1e+16");
  EXPECT_EQ(to_text(filled<float>({}, {0.1f})), "0.1");
  EXPECT_EQ(to_text(filled<double>({}, {1.25e-7})), "1.25e-07");
  EXPECT_EQ(to_text(filled<c128>({}, {c128(1, -2)})), "(1-2j)");
  EXPECT_EQ(repr(filled<bool>({}, {true})), "array(True)");
  EXPECT_EQ(repr(Array::empty({0}, DType::f32)), "array([], dtype=float32)");
  EXPECT_EQ(repr(Array::empty({0, 3}, DType::f64)), "array([], shape=(0, 3), dtype=float64)");
  EXPECT_EQ(to_text(Array::empty({2, 0}, DType::i64)), "[]");
}

TEST(Print, LongLinesWrap) {
  Array a = counted({40});
  EXPECT_EQ(repr(a.view(a.layout())),
            "array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,\n"
            "       17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,\n"
            "       34, 35, 36, 37, 38, 39])");
}

TEST(Print, LargeArraysAreSummarised) {
  EXPECT_EQ(repr(counted({2000})),
            "array([   0,    1,    2, ..., 1997, 1998, 1999], shape=(2000,))");
  EXPECT_EQ(to_text(counted({50, 60})),
            "[[   0    1    2 ...   57   58   59]\n"
            " [  60   61   62 ...  117  118  119]\n"
            " [ 120  121  122 ...  177  178  179]\n"
            " ...\n"
            " [2820 2821 2822 ... 2877 2878 2879]\n"
            " [2880 2881 2882 ... 2937 2938 2939]\n"
            " [2940 2941 2942 ... 2997 2998 2999]]");
}

TEST(Print, BlocksAreSeparatedByEmptyLines) {
  EXPECT_EQ(repr(counted({2, 2, 1, 2}).transpose()),
            "array([[[[0, 4],\n         [2, 6]]],\n\n\n       [[[1, 5],\n         [3, 7]]]])");
}

TEST(Print, DevicesAreNamedAndOnlyTheCornersMove) {
  const Device sim = Device::parse("sim:0");
  EXPECT_EQ(repr(filled<float>({2}, {1, 2}).to(sim)),
            "array([1., 2.], dtype=float32, device='sim:0')");
  const Array large = counted({3000}).to(sim);
  const i64 before = counter(Counter::bytes_device_to_host);
  EXPECT_EQ(
      repr(large),
      "array([   0,    1,    2, ..., 2997, 2998, 2999],\n      shape=(3000,), device='sim:0')");
  EXPECT_LE(counter(Counter::bytes_device_to_host) - before, 64);
}

}  // namespace
}  // namespace tessera
