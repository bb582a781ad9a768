// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/gmres.hpp"

#include "support/problems.hpp"

namespace tessera {
namespace {

using namespace problems;

// I + a random matrix: far from normal, well conditioned.
NamedLinop shifted(i64 n, DType t) {
  const Array w = Random(5).normal({n, n}, t, test_device(), 0, 0.5 / std::sqrt(double(n)));
  return Dense(ops::add(w, eye(n, n, 0, t, test_device())), dims("MN"), dims("N"), dims("M"));
}

TEST(Gmres, SolvesNonsymmetricSystemsInEveryPrecision) {
  for (DType t : dtypes) {
    const NamedLinop A = shifted(43, t);
    const Array x = vector(43, t);
    const SolveResult r = gmres(A, A(x), {.rtol = is_wide(t) ? 1e-12 : 1e-5, .maxiter = 200});
    EXPECT_TRUE(r.converged) << name(t) << " " << r.reason;
    EXPECT_LT(relative(r.x, x), is_wide(t) ? 1e-10 : 1e-3) << name(t);
    EXPECT_EQ(static_cast<i64>(r.history.size()), r.iterations + 1);
  }
}

TEST(Gmres, RestartsAndTheEstimateIsTheResidual) {
  const NamedLinop A = shifted(60, DType::c128);
  const Array x = vector(60, DType::c128), b = A(x);
  const SolveResult r = gmres(A, b, {.rtol = 1e-10, .maxiter = 300}, {.restart = 7});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_GT(r.iterations, 7);
  const double residual = relative(A(r.x), b);
  EXPECT_LT(residual, 1.1e-10);
  EXPECT_NEAR(residual / r.history.back(), 1, 1e-3);
}

TEST(Gmres, StoppedInsideACycleItGivesTheIterateOfTheEstimate) {
  const NamedLinop A = shifted(40, DType::f64);
  const Array b = vector(40, DType::f64);
  const SolveResult r = gmres(A, b, {.rtol = 1e-14, .maxiter = 11}, {.restart = 8});
  EXPECT_FALSE(r.converged);
  EXPECT_EQ(r.iterations, 11);
  EXPECT_NEAR(relative(A(r.x), b) / r.history.back(), 1, 1e-6);
}

TEST(Gmres, PreconditionerStandsOnTheRight) {
  const Array d = linspace(1, 1000, 80, DType::f64).to(test_device());
  const NamedLinop A(Diagonal(d, dims("N"))), M(Diagonal(ops::reciprocal(d), dims("N")));
  const Array b = ones({80}, DType::f64, test_device());
  const SolveResult r = gmres(A, b, {.rtol = 1e-12}, {.restart = 20, .preconditioner = M});
  EXPECT_TRUE(r.converged);
  EXPECT_LE(r.iterations, 2);
  EXPECT_LT(relative(A(r.x), b), 1e-11);
}

TEST(Gmres, SaysWhenASingularOperatorStopsIt) {
  // A nilpotent shift: A e_1 = e_2, A e_2 = 0; b = e_1 is out of reach.
  const Array w = zeros({2, 2}, DType::f64, test_device());
  w.select(0, 1).select(0, 0).fill(Value(1));
  const NamedLinop A(Dense(w, dims("MN"), dims("N"), dims("M")));
  const Array b = zeros({2}, DType::f64, test_device());
  b.select(0, 0).fill(Value(1));
  const SolveResult r = gmres(A, b);
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.reason.find("breakdown"), std::string::npos) << r.reason;
  EXPECT_THROW((void)gmres(A, b, {}, {.restart = 0}), ArgumentError);
}

}  // namespace
}  // namespace tessera
