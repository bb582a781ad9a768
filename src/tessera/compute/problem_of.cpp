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

i64 batch_of(const Shape& shape) {
  i64 n = 1;
  for (i64 i = 0; i + 2 < shape.size(); ++i) n *= shape[i];
  return n;
}

i64 from_end(const Shape& shape, i64 i) { return shape[shape.size() - i]; }

// The axis that the second operand is summed along has to have the columns of the first.
void check_inner(Operation op, const Shape& a, const Shape& b) {
  const i64 axis = op == Operation::matvec || b.size() == 1 ? 1 : 2;
  require<ShapeError>(b.size() >= axis && from_end(b, axis) == from_end(a, 1), name(op),
                      ": operands of shapes ", a, " and ", b, " do not fit each other");
}

}  // namespace

Question problem_of(Operation op, std::span<const Array> operands) {
  Question q{{op, DType::f64}, {}, 0};
  Workload& p = q.problem;
  const bool many = op == Operation::elementwise;
  require<ArgumentError>(many ? !operands.empty() : operands.size() == operands_of(op), name(op),
                         ": ", operands.size(), " operands; expected ",
                         many ? std::string("one or more") : cat(operands_of(op)));
  std::vector<DType> types;
  for (const Array& a : operands) {
    types.push_back(a.dtype());
    q.held.push_back({a.size() * size_of(a.dtype()), {a.device()}});
  }
  p.dtype = promote(types);
  const Shape& a = operands[0].shape();
  i64 results = 0;
  if (many || op == Operation::reduce) {
    for (const Array& x : operands) p.m = std::max(p.m, x.size());
    results = many ? p.m : 1;
  } else {
    require<ShapeError>(a.size() >= 2, name(op), ": an operand of shape ", a,
                        "; expected a matrix or a stack of them");
    require<ShapeError>(!is_square(op) || from_end(a, 1) == from_end(a, 2), name(op),
                        ": an operand of shape ", a, "; expected square matrices");
    p.batch = batch_of(a);
    p.m = from_end(a, 2);
    p.k = from_end(a, 1);
    p.n = p.k;
    if (operands_of(op) == 2) {
      const Shape& b = operands[1].shape();
      check_inner(op, a, b);
      p.n = op == Operation::matvec || b.size() == 1 ? 1 : from_end(b, 1);
      p.batch = std::max(p.batch, batch_of(b));
    }
    results = p.batch * p.m * p.n;
  }
  q.result_bytes = results * size_of(p.dtype);
  return q;
}

}  // namespace tessera
