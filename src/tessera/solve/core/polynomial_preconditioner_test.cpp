// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/polynomial_preconditioner.hpp"

#include "support/problems.hpp"
#include "tessera/solve/linear/cg.hpp"

namespace tessera {
namespace {

using namespace problems;
using enum PolynomialNorm;

void expect_coefficients(const std::vector<double>& got, const std::vector<double>& expected,
                         double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance * std::abs(expected[i])) << i;
}

TEST(Polynomial, KnownCoefficients) {
  expect_coefficients(polynomial_coefficients(0, l_2), {1.5});
  expect_coefficients(polynomial_coefficients(1, l_2), {4, -10.0 / 3});
  expect_coefficients(polynomial_coefficients(2, l_2), {7.5, -15, 8.75});
  expect_coefficients(polynomial_coefficients(0, l_2, 0.1, 1), {1.4864865}, 1e-7);
  expect_coefficients(polynomial_coefficients(1, l_2, 0.1, 1), {3.8321920, -3.1247922}, 1e-7);
  expect_coefficients(polynomial_coefficients(0, l_inf), {2});
  expect_coefficients(polynomial_coefficients(1, l_inf), {8, -8});
  expect_coefficients(polynomial_coefficients(1, ifista), {2, -1});
  expect_coefficients(polynomial_coefficients(2, ifista), {3, -3, 1});
  expect_coefficients(polynomial_coefficients(3, ifista), {4, -6, 4, -1});
  EXPECT_TRUE(polynomial_coefficients(-1, l_2).empty());
}

TEST(Polynomial, IsThePolynomialOfTheOperatorAndItsOwnAdjoint) {
  const NamedLinop A = matrix(12, 8, DType::c128);
  const NamedLinop T = Value(0.2) * A.N();
  const NamedLinop M = polynomial_preconditioner(T, 3, l_2);
  const Array x = vector(8, DType::c128);
  const std::vector<double> c = polynomial_coefficients(3, l_2);
  Array sum = ops::multiply(x, Value(c[0])), power = x;
  for (std::size_t k = 1; k < c.size(); ++k) {
    power = T(power);
    sum = ops::add(sum, ops::multiply(power, Value(c[k])));
  }
  EXPECT_LT(relative(M(x), sum), 1e-12);
  EXPECT_TRUE(check_adjoint(M, {8}, DType::c128, test_device()));
  EXPECT_EQ(polynomial_preconditioner(T, -1).kind(), "Identity");
}

TEST(Polynomial, ShortensConjugateGradients) {
  const Array d = linspace(0.01, 1, 200, DType::f64).to(test_device());
  const NamedLinop A(Diagonal(d, dims("N")));
  const Array b = vector(200, DType::f64);
  const SolveResult plain = cg(A, b, {.rtol = 1e-8, .maxiter = 500});
  for (const auto norm : {l_2, l_inf, ifista}) {
    const NamedLinop M = polynomial_preconditioner(A, 4, norm, 0.01, 1);
    const SolveResult r = cg(A, b, {.rtol = 1e-8, .maxiter = 500}, {.preconditioner = M});
    EXPECT_TRUE(r.converged);
    EXPECT_LT(r.iterations, plain.iterations * 2 / 3);
    EXPECT_LT(relative(A(r.x), b), 1e-7);
  }
}

TEST(Polynomial, RefusesBadIntervals) {
  const NamedLinop A(Diagonal(ones({3}, DType::f64), dims("N")));
  EXPECT_THROW((void)polynomial_preconditioner(A, -2), ArgumentError);
  EXPECT_THROW((void)polynomial_preconditioner(A, 2, l_2, 1, 1), ArgumentError);
  EXPECT_THROW((void)polynomial_preconditioner(A, 2, l_2, -1, 1), ArgumentError);
  EXPECT_THROW((void)polynomial_preconditioner(matrix(4, 3, DType::f64), 1)(vector(3, DType::f64)),
               ShapeError);
}

}  // namespace
}  // namespace tessera
