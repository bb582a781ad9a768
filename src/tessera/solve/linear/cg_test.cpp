// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/cg.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"

namespace tessera {
namespace {

using namespace problems;

TEST(Cg, SolvesAWellConditionedSystem) {
  const Device d = test_device();
  const Array w = Random(1).normal({40, 25}, DType::c128, d),
              x = Random(2).normal({25}, DType::c128, d);
  const NamedLinop A(Dense(w, dims("MN"), dims("N"), dims("M")));
  const SolveResult r = cg(A.N(), A.H()(A(x)), {.rtol = 1e-12, .maxiter = 200});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LT(relative(r.x, x), 1e-8);
  EXPECT_EQ(static_cast<i64>(r.history.size()), r.iterations + 1);
  EXPECT_LE(r.history.back(), 1e-12);
}

TEST(Cg, StartsFromX0AndStopsAtOnceWhenItIsTheSolution) {
  const NamedLinop A(Diagonal(Array::of<double>({1, 2, 3}), dims("N")));
  const Array b = Array::of<double>({1, 4, 9}), x = Array::of<double>({1, 2, 3});
  const SolveResult r = cg(A, b, {.x0 = x});
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(r.iterations, 0);
  EXPECT_EQ(relative(x, Array::of<double>({1, 2, 3})), 0);  // x0 is not written
}

TEST(Cg, StopsAtADirectionWithoutCurvature) {
  const NamedLinop A(Diagonal(Array::of<double>({1, -1}), dims("N")));
  const SolveResult r = cg(A, Array::of<double>({1, 1}));
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.reason.find("breakdown"), std::string::npos) << r.reason;
}

TEST(Cg, ZeroRightSideGivesZero) {
  const NamedLinop A(Diagonal(Array::of<double>({1, 2}), dims("N")));
  const SolveResult r = cg(A, zeros({2}, DType::f64));
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(norm(r.x).item().as<double>(), 0);
}

TEST(Cg, CallbackStops) {
  const NamedLinop A(Diagonal(Random(3).uniform({50}, DType::f64, cpu, 1, 9), dims("N")));
  const SolveResult r =
      cg(A, ones({50}, DType::f64),
         {.rtol = 0, .maxiter = 30, .callback = [](const Iteration& i) { return i.number < 4; }});
  EXPECT_EQ(r.iterations, 4);
  EXPECT_FALSE(r.converged);
}

TEST(Cg, RefusesMapsThatAreNotSquare) {
  const NamedLinop A(Dense(ones({3, 2}, DType::f64), dims("MN"), dims("N"), dims("M")));
  EXPECT_THROW((void)cg(A, ones({2}, DType::f64)), ShapeError);
}

}  // namespace
}  // namespace tessera
