// SPDX-License-Identifier: Apache-2.0
// LSQR and LSMR, which solve the same problems.
#include "tessera/solve/linear/lsqr.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "tessera/solve/linear/lsmr.hpp"

namespace tessera {
namespace {

using namespace problems;

using Solver = SolveResult (*)(const NamedLinop&, const Array&, const SolveOptions&,
                               const LeastSquaresSettings&);
class LeastSquares : public testing::TestWithParam<Solver> {};

TEST_P(LeastSquares, TallSystemsInEveryPrecision) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    const NamedLinop A = matrix(37, 20, t);
    const Array x = Random(2).normal({20}, t, test_device());
    const bool wide = real_of(t) == DType::f64;
    const SolveResult r = GetParam()(A, A(x), {.rtol = wide ? 1e-13 : 1e-6, .maxiter = 400}, {});
    EXPECT_TRUE(r.converged) << name(t) << " " << r.reason;
    EXPECT_LT(relative(r.x, x), wide ? 1e-9 : 1e-3) << name(t);
    EXPECT_EQ(r.x.dtype(), t);
  }
}

TEST_P(LeastSquares, SolvesTheNormalEquationsOfAnIncompatibleSystem) {
  const NamedLinop A = matrix(31, 9, DType::c128);
  const Array b = Random(3).normal({31}, DType::c128, test_device());
  const SolveResult r = GetParam()(A, b, {.rtol = 1e-12, .maxiter = 200}, {});
  EXPECT_TRUE(r.converged) << r.reason;
  const Array gradient = A.H()(ops::subtract(b, A(r.x)));
  EXPECT_LT(norm(gradient).item().as<double>(), 1e-8);
  EXPECT_NE(r.reason.find("least-squares"), std::string::npos) << r.reason;
}

TEST_P(LeastSquares, DampingIsTheExtendedSystem) {
  const NamedLinop A = matrix(14, 25, DType::f64);
  const Array b = Random(4).normal({14}, DType::f64, test_device());
  const SolveResult r = GetParam()(A, b, {.rtol = 1e-13, .maxiter = 200}, {.damp = 0.7});
  // (A.H A + damp^2) x = A.H b
  const Array left = ops::add(A.H()(A(r.x)), ops::multiply(r.x, Value(0.49)));
  EXPECT_LT(relative(left, A.H()(b)), 1e-9) << r.reason;
}

TEST_P(LeastSquares, StartsAtASolutionOrWithNothingToDo) {
  const NamedLinop A = matrix(12, 5, DType::f64);
  const Array x = Random(5).normal({5}, DType::f64, test_device());
  const SolveResult there = GetParam()(A, A(x), {.rtol = 1e-10, .x0 = x}, {});
  EXPECT_TRUE(there.converged);
  EXPECT_EQ(there.iterations, 0);
  const SolveResult zero = GetParam()(A, zeros({12}, DType::f64, test_device()), {}, {});
  EXPECT_TRUE(zero.converged);
  EXPECT_EQ(norm(zero.x).item().as<double>(), 0);
}

TEST_P(LeastSquares, DoesNotDependOnHowOftenTheHostLooks) {
  const NamedLinop A = matrix(30, 11, DType::f32);
  const Array b = Random(6).normal({30}, DType::f32, test_device());
  const SolveResult each = GetParam()(A, b, {.rtol = 1e-5, .check_every = 1}, {});
  const SolveResult seldom = GetParam()(A, b, {.rtol = 1e-5, .check_every = 7}, {});
  EXPECT_EQ(each.iterations, seldom.iterations);
  EXPECT_EQ(each.history, seldom.history);
  EXPECT_EQ(relative(each.x, seldom.x), 0);
}

INSTANTIATE_TEST_SUITE_P(Solvers, LeastSquares, testing::Values(&lsqr, &lsmr),
                         [](const auto& info) { return info.index == 0 ? "lsqr" : "lsmr"; });

}  // namespace
}  // namespace tessera
