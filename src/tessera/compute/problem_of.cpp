// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/problem_of.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool is_square(Operation op) {
  return op == Operation::solve || op == Operation::inverse || op == Operation::cholesky ||
         op == Operation::eigh || op == Operation::eig;
}

std::size_t operands_of(Operation op) {
  switch (op) {
    case Operation::matvec:
    case Operation::matmul:
    case Operation::bit_matmul:
    case Operation::solve: return 2;
    default: return 1;
  }
}

i64 product(const Shape& shape) {
  i64 n = 1;
  for (const i64 extent : shape) n *= extent;
  return n;
}

Shape leading(const Shape& shape) {
  Shape lead;
  for (i64 i = 0; i + 2 < shape.size(); ++i) lead.push_back(shape[i]);
  return lead;
}

i64 from_end(const Shape& shape, i64 i) { return shape[shape.size() - i]; }

// The axis that the second operand is summed along has to have the columns of the first.
void check_inner(Operation op, const Shape& a, const Shape& b) {
  const i64 axis = op == Operation::matvec || b.size() == 1 ? 1 : 2;
  require<ShapeError>(b.size() >= axis && from_end(b, axis) == from_end(a, 1), name(op),
                      ": operands of shapes ", a, " and ", b, " do not fit each other");
}

}  // namespace

Question problem_of(Operation op, std::span<const Shown> operands) {
  const bool many = op == Operation::elementwise;
  require<ArgumentError>(many ? !operands.empty() : operands.size() == operands_of(op), name(op),
                         ": ", operands.size(), " operands; expected ",
                         many ? std::string("one or more") : cat(operands_of(op)));
  std::vector<DType> types;
  Question q{{op, DType::f64}, {}, 0};
  for (const Shown& x : operands) {
    types.push_back(x.dtype);
    q.held.push_back(x.held);
  }
  Workload& p = q.problem;
  p.dtype = promote(types);
  if (op == Operation::matmul && p.dtype == DType::b1) p.op = Operation::bit_matmul;
  const Shape& a = operands[0].shape;
  if (many || op == Operation::reduce) {
    Shape all = a;
    for (const Shown& x : operands) all = broadcast_shapes(all, x.shape);
    p.m = product(all);
    q.result_bytes = (many ? p.m : 1) * size_of(p.dtype);
    return q;
  }
  require<ShapeError>(a.size() >= 2, name(op), ": an operand of shape ", a,
                      "; expected a matrix or a stack of them");
  require<ShapeError>(!is_square(op) || from_end(a, 1) == from_end(a, 2), name(op),
                      ": an operand of shape ", a, "; expected square matrices");
  p.m = from_end(a, 2);
  p.n = p.k = from_end(a, 1);
  Shape lead = leading(a);
  if (operands_of(op) == 2) {
    const Shape& b = operands[1].shape;
    check_inner(op, a, b);
    p.n = op == Operation::matvec || b.size() == 1 ? 1 : from_end(b, 1);
    lead = broadcast_shapes(lead, leading(b));
  }
  p.batch = product(lead);
  const i64 size = p.op == Operation::bit_matmul ? size_of(DType::i32) : size_of(p.dtype);
  q.result_bytes = p.batch * p.m * p.n * size;
  return q;
}

Question problem_of(Operation op, std::span<const Array> operands) {
  std::vector<Shown> shown;
  for (const Array& a : operands)
    shown.push_back({a.shape(), a.dtype(), {a.bytes(), {a.device()}, a.is_pinned()}});
  return problem_of(op, shown);
}

}  // namespace tessera
