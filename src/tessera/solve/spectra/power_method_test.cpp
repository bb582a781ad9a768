// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/power_method.hpp"

#include "support/problems.hpp"

namespace tessera {
namespace {

using namespace problems;

TEST(PowerMethod, OfMultiplesOfTheIdentity) {
  for (DType t : dtypes)
    for (double c : {2.0, -2.0}) {
      const EigenResult r =
          power_method(Scalar(c), {.shape = {7}, .dtype = t, .device = test_device()});
      EXPECT_TRUE(r.converged);
      EXPECT_NEAR(r.eigenvalues.item().as<double>(), c, 1e-6);
      EXPECT_NEAR(norm(r.x).item().as<double>(), 1, 1e-6);
    }
}

TEST(PowerMethod, FiveOfOneToFive) {
  const Array d = linspace(1, 5, 5, DType::f64).to(test_device());
  const EigenResult r =
      power_method(Diagonal(d, dims("N")), {}, {},
                   {.rtol = 1e-5, .maxiter = 50, .x0 = ones({5}, DType::f64, test_device())});
  EXPECT_NEAR(r.eigenvalues.item().as<double>(), 5, 1e-3);
  EXPECT_LE(r.iterations, 25);
  EXPECT_TRUE(r.converged);
}

TEST(PowerMethod, ABatchSideBySide) {
  const Array d = Array::of<double>({1, 2, 3, 4, 5, 9, 1, 1, 1, 1, 7, 1, 1, 1, 2, 3, 3, 0.5})
                      .reshape({3, 6})
                      .to(test_device());
  const EigenResult r =
      power_method(Diagonal(d, dims("BN")), {}, {.axes = Axes{1}},
                   {.rtol = 1e-9, .maxiter = 400, .x0 = ones({3, 6}, DType::f64, test_device())});
  EXPECT_EQ(r.eigenvalues.shape(), (Shape{3}));
  const double expected[] = {9, 7, 3};
  for (i64 i = 0; i < 3; ++i)
    EXPECT_NEAR(reals(r.eigenvalues)[static_cast<std::size_t>(i)], expected[i], 1e-4);
}

TEST(PowerMethod, DoesNotDependOnHowOftenTheHostLooks) {
  const NamedLinop A = matrix(20, 20, DType::c64).N();
  const Array x0 = vector(20, DType::c64);
  const EigenResult each =
      power_method(A, {}, {}, {.rtol = 1e-4, .maxiter = 60, .x0 = x0, .check_every = 1});
  const EigenResult seldom =
      power_method(A, {}, {}, {.rtol = 1e-4, .maxiter = 60, .x0 = x0, .check_every = 9});
  EXPECT_EQ(each.iterations, seldom.iterations);
  EXPECT_EQ(relative(each.x, seldom.x), 0);
}

}  // namespace
}  // namespace tessera
