// SPDX-License-Identifier: Apache-2.0
// Small products by loops, against sums in double precision; and which products are such.
#include "tessera/matrix/products/small_product.hpp"

#include <gtest/gtest.h>

#include <complex>

#include "tessera/base/tags.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/matrix/products/multiply.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;

AnyMatrix random_matrix(i64 rows, i64 cols, DType dtype, std::uint64_t seed) {
  return AnyMatrix::dense(Random(seed).normal({rows, cols}, dtype));
}

Z at(const AnyMatrix& m, i64 i, i64 j) {
  const c128 z = m.at(i, j).as<c128>();
  return {z.re, z.im};
}

void expect_product(const AnyMatrix& a, const AnyMatrix& b) {
  ASSERT_TRUE(is_small_product(a, b));
  const AnyMatrix c = matmul(a, b);
  ASSERT_EQ(c.rows(), a.rows());
  ASSERT_EQ(c.cols(), b.cols());
  ASSERT_EQ(c.dtype(), a.dtype());
  const double eps = real_of(a.dtype()) == DType::f32 ? 1.2e-7 : 2.3e-16;
  for (i64 i = 0; i < c.rows(); ++i)
    for (i64 j = 0; j < c.cols(); ++j) {
      Z sum = 0;
      double size = 0;
      for (i64 k = 0; k < a.cols(); ++k) {
        sum += at(a, i, k) * at(b, k, j);
        size += std::abs(at(a, i, k)) * std::abs(at(b, k, j));
      }
      ASSERT_TRUE(std::abs(at(c, i, j) - sum) <= 4 * double(a.cols() + 1) * eps * size)
          << "element (" << i << ", " << j << ") of " << a.rows() << " x " << a.cols() << " x "
          << b.cols() << " of " << name(a.dtype());
    }
}

class SmallProduct : public testing::TestWithParam<DType> {};

TEST_P(SmallProduct, IsRightInEveryShapeAndView) {
  const DType t = GetParam();
  for (const auto& [m, k, n] : {std::array<i64, 3>{1, 1, 1},
                                {2, 3, 4},
                                {5, 4, 3},
                                {4, 4, 4},
                                {7, 5, 6},
                                {3, 7, 9},
                                {6, 1, 7},
                                {1, 15, 13},
                                {13, 15, 1},
                                {3, 0, 2},
                                {0, 3, 2},
                                {2, 3, 0}}) {
    const AnyMatrix a = random_matrix(m, k, t, 1), b = random_matrix(k, n, t, 2),
                    at = random_matrix(k, m, t, 3), bt = random_matrix(n, k, t, 4);
    expect_product(a, b);
    expect_product(at.transpose(), b);
    expect_product(a, bt.transpose());
    expect_product(at.adjoint(), bt.adjoint());
    expect_product(a.conj(), b);
  }
}

TEST_P(SmallProduct, ReadsRowsThatAreNotNeighbours) {
  const DType t = GetParam();
  const Array wide = Random(5).normal({12, 15}, t);
  const AnyMatrix a = AnyMatrix::dense(wide.slice(0, 11, -13, -2).slice(1, 0, 15, 3)),
                  b = AnyMatrix::dense(wide.slice(0, 0, 5).slice(1, 1, 15, 2));
  ASSERT_EQ(a.cols(), 5);
  expect_product(a, b);
}

INSTANTIATE_TEST_SUITE_P(All, SmallProduct,
                         testing::Values(DType::f32, DType::f64, DType::c64, DType::c128));

TEST(SmallProductOf, WhatIsKnownOrElsewhereGoesTheLongWay) {
  const AnyMatrix a = random_matrix(4, 4, DType::f64, 1), b = random_matrix(4, 4, DType::f32, 2);
  EXPECT_TRUE(is_small_product(a, a));
  EXPECT_FALSE(is_small_product(a, b));
  EXPECT_FALSE(is_small_product(a, a.scaled(Value(2.0))));
  EXPECT_FALSE(is_small_product(a, AnyMatrix::identity(4)));
  EXPECT_FALSE(is_small_product(a, a.to(Device{Kind::sim, 0})));
  AnyMatrix known = a;
  known.properties().declare(Property::is_symmetric, false);
  EXPECT_TRUE(is_small_product(known, a));
  known.properties().declare(Property::is_upper_triangular, true);
  EXPECT_FALSE(is_small_product(known, a));
  EXPECT_EQ(matmul(known, a).form(), Form::dense);
  const AnyMatrix whole = AnyMatrix::dense(ones({4, 4}, DType::i64));
  EXPECT_FALSE(is_small_product(whole, whole));
  EXPECT_FALSE(
      is_small_product(random_matrix(129, 2, DType::f64, 3), random_matrix(2, 1, DType::f64, 4)));
  EXPECT_TRUE(
      is_small_product(random_matrix(128, 2, DType::f64, 3), random_matrix(2, 1, DType::f64, 4)));
  EXPECT_FALSE(
      is_small_product(random_matrix(2, 33, DType::f64, 3), random_matrix(33, 32, DType::f64, 4)));
}

TEST(SmallProductOf, LeavesItsTag) {
  const AnyMatrix a = random_matrix(3, 3, DType::f32, 1);
  clear_tag(Channel::kernel);
  (void)matmul(a, a);
  EXPECT_EQ(last_tag(Channel::kernel), "cpu.matmul.f32");
}

}  // namespace
}  // namespace tessera
