// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/problem_of.hpp"

#include <algorithm>
#include <optional>

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
void check_inner(Operation op, const Shape& a, const Shape& b, std::string_view who) {
  const i64 axis = op == Operation::matvec || b.size() == 1 ? 1 : 2;
  require<ShapeError>(b.size() >= axis && from_end(b, axis) == from_end(a, 1), who,
                      ": operands of shapes ", a, " and ", b, " do not fit each other");
}

Shape broadcast(std::string_view who, const Shape& a, const Shape& b) {
  try {
    return broadcast_shapes(a, b);
  } catch (const ShapeError& e) {
    throw ShapeError(cat(who, ": ", e.what()));
  }
}

// Integers and bits are factored as floating-point numbers: a call, and as measured on hosts so many
// stored elements in the time of another.
double conversion_steps(const OperandInfo& x) {
  if (is_inexact(x.dtype) || x.held.bytes == 0) return 0;
  return 1 + static_cast<double>(x.held.bytes) / (750.0 * static_cast<double>(size_of(x.dtype)));
}

// What a function takes, and how its operands stand for those of the operation it is weighed as.
enum class Takes : std::uint8_t {
  the_same,        // as the operation
  a_matrix,        // and as good as no right-hand side
  its_own_square,  // the matrix on both sides
  two_vectors,     // each along an axis of the result
  vector_first,    // and is multiplied from the right
  one_beside       // a second one that has to be there too, and costs as good as nothing
};

struct Function {
  std::string_view name;
  Operation op;
  Takes takes = Takes::the_same;
  double steps = 0;  // beside the operation: Workload::steps
};

constexpr Function functions[] = {
    {"add", Operation::elementwise},
    {"subtract", Operation::elementwise},
    {"multiply", Operation::elementwise},
    {"divide", Operation::elementwise},
    {"multiply_scalar", Operation::elementwise},
    {"absolute", Operation::elementwise},
    {"real", Operation::elementwise},
    {"imag", Operation::elementwise},
    {"power", Operation::elementwise},
    {"equal", Operation::elementwise},
    {"not_equal", Operation::elementwise},
    {"less", Operation::elementwise},
    {"less_equal", Operation::elementwise},
    {"greater", Operation::elementwise},
    {"greater_equal", Operation::elementwise},
    {"outer", Operation::elementwise, Takes::two_vectors},
    {"sum", Operation::reduce},
    {"all", Operation::reduce},
    {"any", Operation::reduce},
    {"trace", Operation::reduce},
    {"norm", Operation::reduce},
    {"dot", Operation::reduce, Takes::one_beside},
    {"gemv", Operation::matvec},
    {"vecmat", Operation::matvec, Takes::vector_first},
    {"eigs", Operation::matvec, Takes::a_matrix},
    {"matrix_power", Operation::matmul, Takes::its_own_square},
    {"boolean_product", Operation::bit_matmul},
    {"transitive_closure", Operation::bit_matmul, Takes::its_own_square},
    {"lu", Operation::solve, Takes::a_matrix},
    {"lu_factor", Operation::solve, Takes::a_matrix},
    {"det", Operation::solve, Takes::a_matrix, 4},
    {"slogdet", Operation::solve, Takes::a_matrix, 4},
    {"solve_triangular", Operation::solve},
    {"compute_k", Operation::solve, Takes::its_own_square},
    {"inv", Operation::inverse},
    {"cholesky_factor", Operation::cholesky},
    {"eigvalsh", Operation::eigh},
    {"eigvals", Operation::eig},
    {"svdvals", Operation::svd},
    {"pinv", Operation::svd},
    {"matrix_rank", Operation::svd},
    {"cond", Operation::svd},
    {"lstsq", Operation::svd, Takes::one_beside},
};

// 0: as many as the operation takes.
std::size_t operands_of(Takes takes) {
  switch (takes) {
    case Takes::the_same: return 0;
    case Takes::a_matrix:
    case Takes::its_own_square: return 1;
    default: return 2;
  }
}

OperandInfo nothing_of(Shape shape, const OperandInfo& like) {
  return {std::move(shape), like.dtype, {0, like.held.at}};
}

// What a determinant of a triangle reads.
OperandInfo diagonal_of(const OperandInfo& x) {
  OperandInfo d{Shape{x.shape.empty() ? 1 : x.shape.back()}, x.dtype, x.held};
  d.steps = x.diagonal_steps;
  return d;
}

OperandInfo turned(OperandInfo x) {
  const i64 rank = x.shape.size();
  if (rank >= 2) std::swap(x.shape[rank - 1], x.shape[rank - 2]);
  return x;
}

OperandInfo along(const OperandInfo& x, i64 axis, std::string_view who) {
  require<ShapeError>(x.shape.size() == 1, who, ": an operand of shape ", x.shape,
                      "; expected a vector");
  const i64 n = x.shape[0];
  return {axis == 0 ? Shape{n, 1} : Shape{1, n}, x.dtype, x.held};
}

std::vector<OperandInfo> arranged(const Function& f, std::span<const OperandInfo> given) {
  const OperandInfo& a = given[0];
  switch (f.takes) {
    case Takes::a_matrix: {
      const Shape columns = a.shape.empty() ? Shape{} : Shape{from_end(a.shape, 1)};
      OperandInfo whole = a;
      whole.triangular = false;  // factored all the same
      return {whole, nothing_of(columns, a)};
    }
    case Takes::its_own_square: return {a, nothing_of(a.shape, a)};
    case Takes::two_vectors: return {along(a, 0, f.name), along(given[1], 1, f.name)};
    case Takes::vector_first: return {turned(given[1]), a};
    default: return {a};
  }
}

// Right-hand sides have the rows of their matrix; two vectors, or what is one, are equally long.
void check_beside(std::string_view who, const Shape& a, const Shape& b) {
  const i64 axis = b.size() == 1 ? 1 : 2;
  const bool fits = who == "dot" ? product(a) == product(b)
                                 : b.size() >= axis && from_end(a, 2) == from_end(b, axis);
  require<ShapeError>(fits, who, ": operands of shapes ", a, " and ", b, " do not fit each other");
}

// As measured on hosts: each takes that much longer than the sums of which the curve is drawn.
double divisions_in_a_step(DType dtype) {
  if (is_complex(dtype)) return dtype == DType::c64 ? 170 : 72;
  return dtype == DType::f64 ? 350 : 750;
}

// Systems and inverses of a matrix that is nothing but its diagonal: one division for an element of
// the result. Operands that do not fit are refused as for any other matrix.
std::optional<PlacementProblem> divided_by_diagonal(std::string_view function,
                                                    std::span<const OperandInfo> operands) {
  const bool solves = function == "solve", inverts = function == "inverse" || function == "inv";
  if ((!solves && !inverts) || operands.empty() || !operands[0].diagonal) return {};
  (void)problem_of(solves ? Operation::solve : Operation::inverse, operands, function);
  const OperandInfo& a = operands[0];
  const i64 n = a.shape.back();
  const bool columns = solves && operands[1].shape.size() > 1;
  std::vector<OperandInfo> each{{columns ? Shape{n, 1} : Shape{n}, a.dtype, a.held}};
  each[0].steps = a.steps;
  if (solves) each.push_back(operands[1]);
  PlacementProblem q = problem_of(Operation::elementwise, each, function);
  if (a.held.bytes > 0)  // an identity has nothing to divide by
    q.problem.steps += static_cast<double>(q.problem.m) / divisions_in_a_step(q.problem.dtype);
  return q;
}

}  // namespace

PlacementProblem problem_of(Operation op, std::span<const OperandInfo> operands,
                            std::string_view who) {
  if (who.empty()) who = name(op);
  const bool many = op == Operation::elementwise;
  require<ArgumentError>(many ? !operands.empty() : operands.size() == operands_of(op), who, ": ",
                         operands.size(), " operands; expected ",
                         many ? std::string("one or more") : cat(operands_of(op)));
  std::vector<DType> types;
  PlacementProblem q{{op, DType::f64}, {}, 0};
  for (const OperandInfo& x : operands) {
    types.push_back(x.dtype);
    q.held.push_back(x.held);
    q.problem.steps += x.steps;
  }
  Workload& p = q.problem;
  p.dtype = promote(types);
  if (op == Operation::matmul && p.dtype == DType::b1) p.op = Operation::bit_matmul;
  const Shape& a = operands[0].shape;
  if (many || op == Operation::reduce) {
    Shape all = a;
    for (const OperandInfo& x : operands) all = broadcast(who, all, x.shape);
    p.m = product(all);
    q.result_bytes = (many ? p.m : 1) * size_of(p.dtype);
    return q;
  }
  require<ShapeError>(a.size() >= 2, who, ": an operand of shape ", a,
                      "; expected a matrix or a stack of them");
  require<ShapeError>(!is_square(op) || from_end(a, 1) == from_end(a, 2), who,
                      ": an operand of shape ", a, "; expected square matrices");
  p.m = from_end(a, 2);
  p.n = p.k = from_end(a, 1);
  p.triangular = operands[0].triangular && (op == Operation::solve || op == Operation::inverse);
  if (op == Operation::inverse) p.steps *= 2;  // and back into the form of its operand
  if (op >= Operation::solve)
    for (const OperandInfo& x : operands) p.steps += conversion_steps(x);
  Shape lead = leading(a);
  if (operands_of(op) == 2) {
    const Shape& b = operands[1].shape;
    check_inner(op, a, b, who);
    p.n = op == Operation::matvec || b.size() == 1 ? 1 : from_end(b, 1);
    lead = broadcast(who, lead, leading(b));
  }
  p.batch = product(lead);
  const i64 size = p.op == Operation::bit_matmul ? size_of(DType::i32) : size_of(p.dtype);
  q.result_bytes = p.batch * p.m * p.n * size;
  return q;
}

PlacementProblem problem_of_function(std::string_view function,
                                     std::span<const OperandInfo> operands) {
  if (const auto q = divided_by_diagonal(function, operands)) return *q;
  if (const auto op = parse_operation(function)) return problem_of(*op, operands);
  std::string known;
  for (int i = 0; i < operation_count; ++i)
    known += cat(i ? ", " : "", name(static_cast<Operation>(i)));
  const auto* const found = std::find_if(std::begin(functions), std::end(functions),
                                         [&](const Function& f) { return f.name == function; });
  require<ArgumentError>(found != std::end(functions), "explain: '", function,
                         "' is no operation with a known cost; expected ", known,
                         " or a function like add, det or lstsq");
  const std::size_t expected = operands_of(found->takes);
  require<ArgumentError>(expected == 0 || operands.size() == expected, function, ": ",
                         operands.size(), " operands; expected ", expected);
  if ((function == "det" || function == "slogdet") && operands[0].triangular) {
    const OperandInfo diagonal = diagonal_of(operands[0]);
    return problem_of(Operation::reduce, {&diagonal, 1}, function);
  }
  if (function == "solve_triangular") {
    std::vector<OperandInfo> both(operands.begin(), operands.end());
    if (!both.empty()) both[0].triangular = true;
    return problem_of(found->op, both, function);
  }
  if (found->takes == Takes::the_same) return problem_of(found->op, operands, function);
  PlacementProblem q = problem_of(found->op, arranged(*found, operands), function);
  q.problem.steps += found->steps;
  if (found->takes != Takes::one_beside) return q;
  check_beside(function, operands[0].shape, operands[1].shape);
  q.held.push_back(operands[1].held);
  return q;
}

}  // namespace tessera
