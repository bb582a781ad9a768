// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operation on given arrays as the cost model sees it: sizes, dtype, where the operands are, and
// the bytes of the result. Computes nothing.
//   Question q = problem_of(Operation::matmul, {a, b});   context().choose(q.problem, q.held,
//   q.bytes)

#include <span>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/compute/auto_solver.hpp"

namespace tessera {

// What the question needs to know of an operand: an array, or a matrix of any form.
struct Shown {
  Shape shape;
  DType dtype;
  Held held;
};

struct Question {
  Workload problem;
  std::vector<Held> held;
  i64 result_bytes = 0;
};

// ArgumentError, ShapeError: the wrong number of operands, or operands that do not fit each other.
// Leading axes are a batch and broadcast, as elements do. matmul of two bit operands is bit_matmul.
TESSERA_API Question problem_of(Operation op, std::span<const Shown> operands);
TESSERA_API Question problem_of(Operation op, std::span<const Array> operands);

}  // namespace tessera
