// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operation on given arrays as the cost model sees it: sizes, dtype, where the operands are, and
// the bytes of the result. Computes nothing.
//   PlacementProblem q = problem_of_function("lstsq", {{a, b}});   context().choose(q.problem, q.held,
//   q.result_bytes)

#include <span>
#include <string_view>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/compute/auto_solver.hpp"

namespace tessera {

// What the question needs to know of an operand: an array, or a matrix of any form.
struct OperandInfo {
  Shape shape;
  DType dtype;
  Residency held;
  bool triangular = false;    // known to be, and solved with by substitution
  bool diagonal = false;      // held as one, and divided by
  double steps = 0;           // short kernels that bring it into the form that is computed with
  double diagonal_steps = 0;  // and those in which its diagonal is found and multiplied

  OperandInfo(Shape s, DType t, Residency h) : shape(std::move(s)), dtype(t), held(std::move(h)) {}
  // Arrays are operands as they are.
  OperandInfo(const Array& a)
      : OperandInfo(a.shape(), a.dtype(), Residency{a.bytes(), {a.device()}, a.is_pinned()}) {}
};

struct PlacementProblem {
  Workload problem;
  std::vector<Residency> held;
  i64 result_bytes = 0;
};

// ArgumentError, ShapeError: the wrong number of operands, or operands that do not fit each other.
// Leading axes are a batch and broadcast, as elements do. matmul of two bit operands is bit_matmul.
// `who` is whom errors name, the operation without it.
TESSERA_API PlacementProblem problem_of(Operation op, std::span<const OperandInfo> operands,
                                        std::string_view who = {});
// By name: an operation, or a function that is weighed as one of them (add, det, lstsq, outer,
// ...). One application for eigs. ArgumentError for a name that is neither.
TESSERA_API PlacementProblem problem_of_function(std::string_view function,
                                                 std::span<const OperandInfo> operands);

}  // namespace tessera
