// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/problem_of.hpp"

#include <gtest/gtest.h>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

Array of(const Shape& shape, DType dtype = DType::f32) { return zeros(shape, dtype); }

PlacementProblem asked(Operation op, std::vector<OperandInfo> operands) {
  return problem_of(op, operands);
}
PlacementProblem asked(std::string_view function, std::vector<OperandInfo> operands) {
  return problem_of_function(function, operands);
}

TEST(ProblemOf, ReadsSizesBatchesAndBytes) {
  const PlacementProblem q = asked(Operation::matmul, {of({5, 3, 4}), of({4, 7}, DType::f64)});
  EXPECT_EQ(q.problem.m, 3);
  EXPECT_EQ(q.problem.k, 4);
  EXPECT_EQ(q.problem.n, 7);
  EXPECT_EQ(q.problem.batch, 5);
  EXPECT_EQ(q.problem.dtype, DType::f64);
  EXPECT_EQ(q.result_bytes, 5 * 3 * 7 * 8);
  ASSERT_EQ(q.held.size(), 2u);
  EXPECT_EQ(q.held[0].bytes, 5 * 3 * 4 * 4);
  EXPECT_EQ(q.held[1].at, std::vector<Device>{cpu});
  EXPECT_EQ(asked(Operation::matvec, {of({3, 4}), of({4})}).result_bytes, 12);
  EXPECT_EQ(asked(Operation::solve, {of({4, 4}), of({4})}).problem.n, 1);
  EXPECT_EQ(asked(Operation::solve, {of({4, 4}), of({4, 9})}).problem.n, 9);
  EXPECT_EQ(asked(Operation::elementwise, {of({3, 1}), of({3, 8})}).problem.m, 24);
  EXPECT_EQ(asked(Operation::elementwise, {of({3, 1}), of({1, 8})}).problem.m, 24);
  EXPECT_EQ(asked(Operation::reduce, {of({3, 8})}).result_bytes, 4);
  EXPECT_EQ(asked(Operation::matmul, {of({5, 1, 2, 2}), of({3, 2, 2})}).problem.batch, 15);
  EXPECT_EQ(asked(Operation::matmul, {of({0, 2, 2}), of({2, 2})}).problem.batch, 0);
}

TEST(ProblemOf, BitsAreCountedAndPinnedMemoryIsKnown) {
  const PlacementProblem q =
      asked(Operation::matmul, {of({3, 4}, DType::b1), of({4, 5}, DType::b1)});
  EXPECT_EQ(q.problem.op, Operation::bit_matmul);
  EXPECT_EQ(q.result_bytes, 3 * 5 * 4);
  EXPECT_FALSE(q.held[0].pinned);
  EXPECT_TRUE(asked(Operation::reduce, {of({3, 4}).pin_memory()}).held[0].pinned);
  const std::vector<OperandInfo> bits{{{8, 8}, DType::b1, {64, {cpu, Device{Kind::sim, 0}}}},
                                      {{8, 3}, DType::f32, {96, {cpu}}}};
  const PlacementProblem mixed = problem_of(Operation::matmul, bits);
  EXPECT_EQ(mixed.problem.op, Operation::matmul);
  EXPECT_EQ(mixed.problem.dtype, DType::f32);
  EXPECT_EQ(mixed.held[0].at.size(), 2u);
}

TEST(ProblemOf, RefusesWhatDoesNotFit) {
  EXPECT_THROW(asked(Operation::matmul, {of({3, 4}), of({3, 4})}), ShapeError);
  EXPECT_THROW(asked(Operation::matmul, {of({3, 4})}), ArgumentError);
  EXPECT_THROW(asked(Operation::eigh, {of({3, 4})}), ShapeError);
  EXPECT_THROW(asked(Operation::svd, {of({3})}), ShapeError);
  EXPECT_THROW(asked(Operation::elementwise, {}), ArgumentError);
  EXPECT_THROW(asked(Operation::elementwise, {of({3}), of({4})}), ShapeError);
}

TEST(ProblemOf, FunctionsAreWeighedAsOperations) {
  const PlacementProblem sum = asked("add", {of({3, 1}), of({1, 8})});
  EXPECT_EQ(sum.problem.op, Operation::elementwise);
  EXPECT_EQ(sum.problem.m, 24);
  const PlacementProblem outer = asked("outer", {of({3}), of({5})});
  EXPECT_EQ(outer.problem.m, 15);
  EXPECT_EQ(outer.result_bytes, 60);
  const PlacementProblem left = asked("vecmat", {of({3}), of({3, 5})});
  EXPECT_EQ(left.problem.op, Operation::matvec);
  EXPECT_EQ(left.problem.m, 5);
  EXPECT_EQ(left.problem.k, 3);
  for (const auto* factored : {"lu", "lu_factor", "det", "slogdet"}) {
    const PlacementProblem q = asked(factored, {of({2, 4, 4})});
    EXPECT_EQ(q.problem.op, Operation::solve) << factored;
    EXPECT_EQ(q.problem.n, 1) << factored;
    EXPECT_EQ(q.problem.batch, 2) << factored;
  }
  EXPECT_EQ(asked("compute_k", {of({4, 4})}).problem.n, 4);
  EXPECT_EQ(asked("eigs", {of({4, 4})}).problem.op, Operation::matvec);
  EXPECT_EQ(asked("transitive_closure", {of({4, 4}, DType::b1)}).problem.k, 4);
  EXPECT_EQ(asked("matmul", {of({3, 4}), of({4, 2})}).problem.op, Operation::matmul);
}

TEST(ProblemOf, TrianglesAreSubstitutedOrOnlyLookedAt) {
  OperandInfo t = of({40, 40}, DType::f64);
  const OperandInfo b = of({40, 3}, DType::f64);
  EXPECT_EQ(work(asked("solve_triangular", {t, b}).problem), 40 * 40 * 3);
  EXPECT_GT(work(asked("solve", {t, b}).problem), 40 * 40 * 40 * 2 / 3);
  t.triangular = true;
  EXPECT_EQ(work(asked("solve", {t, b}).problem), 40 * 40 * 3);
  EXPECT_EQ(work(asked("det", {t}).problem), 40);
  t.steps = 20;
  t.diagonal_steps = 7;
  EXPECT_EQ(asked("det", {t}).problem.steps, 7);
  EXPECT_NEAR(work(asked("inv", {t}).problem), 40 * 40 * 40 / 3.0, 1e-6);
  EXPECT_FALSE(asked("lu", {t}).problem.triangular);
}

TEST(ProblemOf, AllOperandsOfAFunctionHaveToBeThere) {
  const Device there{Kind::sim, 0};
  const OperandInfo b({5}, DType::f32, {20, {there}});
  for (const auto* function : {"lstsq", "dot"}) {
    const OperandInfo a = function == std::string_view("dot") ? of({5}) : of({5, 2});
    const PlacementProblem q = asked(function, {a, b});
    ASSERT_EQ(q.held.size(), 2u) << function;
    EXPECT_EQ(q.held[1].at, std::vector<Device>{there}) << function;
  }
}

TEST(ProblemOf, FormsBringTheirStepsAndDiagonalsDivide) {
  OperandInfo a = of({6, 6});
  EXPECT_EQ(asked("inv", {a}).problem.steps, 0);
  const double signs = asked("det", {a}).problem.steps;
  EXPECT_GT(signs, 0);
  a.steps = 11;
  EXPECT_EQ(asked("det", {a}).problem.steps, 11 + signs);
  EXPECT_EQ(asked("solve", {a, of({6})}).problem.steps, 11);
  EXPECT_EQ(asked("inv", {a}).problem.steps, 22);  // there and back
  a.diagonal = true;
  for (const auto* function : {"inverse", "inv"}) {
    const Workload p = asked(function, {a}).problem;
    EXPECT_EQ(p.op, Operation::elementwise) << function;
    EXPECT_EQ(p.m, 6) << function;
    EXPECT_DOUBLE_EQ(p.steps, 11 + 6.0 / 750) << function;  // short kernels, and divisions
  }
  a.dtype = DType::c128;
  EXPECT_DOUBLE_EQ(asked("solve", {a, of({6, 12})}).problem.steps, 11 + 1);
  a.dtype = DType::f64;
  EXPECT_EQ(asked("solve", {a, of({6})}).problem.m, 6);
  EXPECT_EQ(asked("solve", {a, of({6, 3})}).problem.m, 18);
  EXPECT_EQ(asked("solve", {a, of({2, 6, 3})}).problem.m, 36);
  a.held.bytes = 0;  // an identity: nothing is divided
  EXPECT_EQ(asked("solve", {a, of({6, 3})}).problem.steps, 11);
  EXPECT_THROW(asked("solve", {a, of({5})}), ShapeError);
  EXPECT_THROW(asked("solve", {a}), ArgumentError);
}

TEST(ProblemOf, IntegersAreConvertedBeforeTheyAreFactored) {
  const OperandInfo whole = of({30, 50, 50}, DType::i64), b = of({50}, DType::f64);
  const double converted = 1 + 30 * 50 * 50 / 750.0;
  EXPECT_DOUBLE_EQ(asked("solve", {whole, b}).problem.steps, converted);
  EXPECT_DOUBLE_EQ(asked("inv", {whole}).problem.steps, converted);  // and not back
  EXPECT_EQ(asked("add", {whole, whole}).problem.steps, 0);
  EXPECT_EQ(asked("solve", {of({50, 50}, DType::f32), b}).problem.steps, 0);
}

TEST(ProblemOf, NamesThatAreNoFunctionAndOperandsThatAreNone) {
  EXPECT_THROW(asked("dance", {of({2, 2})}), ArgumentError);
  EXPECT_THROW(asked("add", {}), ArgumentError);
  EXPECT_THROW(asked("det", {}), ArgumentError);
  EXPECT_THROW(asked("det", {of({})}), ShapeError);
  EXPECT_THROW(asked("det", {of({2, 3})}), ShapeError);
  EXPECT_THROW(asked("lstsq", {of({2, 3})}), ArgumentError);
  EXPECT_THROW(asked("outer", {of({2, 3}), of({3})}), ShapeError);
  EXPECT_THROW(asked("vecmat", {of({2}), of({3, 4})}), ShapeError);
  EXPECT_THROW(asked("lstsq", {of({3, 4}), of({4})}), ShapeError);
  EXPECT_THROW(asked("lstsq", {of({3, 4}), of({2, 5})}), ShapeError);
  EXPECT_NO_THROW(asked("lstsq", {of({3, 4}), of({3, 5})}));
  EXPECT_THROW(asked("dot", {of({3}), of({4})}), ShapeError);
}

}  // namespace
}  // namespace tessera
