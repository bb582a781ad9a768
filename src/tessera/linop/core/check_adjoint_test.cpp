// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/check_adjoint.hpp"

#include <gtest/gtest.h>

#include "support/support.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

NamedLinop by(double forward, double adjoint) {
  return SimpleLinop([=](const Array& x) { return ops::multiply(x, forward); },
                     [=](const Array& y) { return ops::multiply(y, adjoint); }, {}, dims("N"));
}

TEST(CheckAdjoint, IsTrueWhereTheLawHolds) {
  for (const DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    const AdjointCheck right = check_adjoint(by(2, 2), {7}, t, test_device());
    EXPECT_TRUE(right) << right.error;
    EXPECT_LE(right.error, right.tolerance);
    const AdjointCheck wrong = check_adjoint(by(2, 2.25), {7}, t, test_device());
    EXPECT_FALSE(wrong);
    EXPECT_GT(wrong.error, 1e-3);
    EXPECT_FALSE(check_adjoint(by(2, std::nan("")), {7}, t, test_device()));
  }
}

TEST(CheckAdjoint, TakesTheToleranceThatIsGiven) {
  const AdjointCheck rough = check_adjoint(by(2, 2.25), {7}, DType::f64, test_device(), 3, 10.0);
  EXPECT_TRUE(rough);
  EXPECT_EQ(rough.tolerance, 10.0);
  EXPECT_GT(check_adjoint(FFT(1), {9}, DType::c64).tolerance,
            check_adjoint(FFT(1), {9}, DType::c128).tolerance);
}

TEST(CheckAdjoint, FromRealToComplexNumbers) {
  EXPECT_TRUE(check_adjoint(FFT(1, {}, {}, Norm::ortho, false, 8), {8}, DType::f64, test_device()));
}

}  // namespace
}  // namespace tessera
