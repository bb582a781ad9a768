// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/problem_of.hpp"

#include <gtest/gtest.h>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

Array of(const Shape& shape, DType dtype = DType::f32) { return zeros(shape, dtype); }

Question asked(Operation op, std::vector<Array> operands) { return problem_of(op, operands); }

TEST(ProblemOf, ReadsSizesBatchesAndBytes) {
  const Question q = asked(Operation::matmul, {of({5, 3, 4}), of({4, 7}, DType::f64)});
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
  EXPECT_EQ(asked(Operation::reduce, {of({3, 8})}).result_bytes, 4);
}

TEST(ProblemOf, RefusesWhatDoesNotFit) {
  EXPECT_THROW(asked(Operation::matmul, {of({3, 4}), of({3, 4})}), ShapeError);
  EXPECT_THROW(asked(Operation::matmul, {of({3, 4})}), ArgumentError);
  EXPECT_THROW(asked(Operation::eigh, {of({3, 4})}), ShapeError);
  EXPECT_THROW(asked(Operation::svd, {of({3})}), ShapeError);
  EXPECT_THROW(asked(Operation::elementwise, {}), ArgumentError);
}

}  // namespace
}  // namespace tessera
