// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions applied element by element, with broadcasting and dtype conversion in one pass:
// arithmetic, comparisons, logic, mathematics, selection, copies and fills. NumPy's results, dtypes
// and error texts. Reductions and anything that looks at a neighbour live elsewhere.
//   Array z = ops::add(x, y);   Array w = ops::where(ops::greater(x, 0.0), x, 0.0);

#include <array>
#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// ELEMENT(name, arity, family). Families: arith = computed in the promoted dtype of the inputs;
// compare = computed there, result bool; logic = inputs as truth values, result bool;
// bits = integers and bool only; math = at least float (NumPy's float for small integers, else
// float64); real_math = math, no complex; test = result bool; real_part = complex in, real out
// (abs, real, imag, angle).
// clang-format off
#define TESSERA_ELEMENT_OPS(ELEMENT)                                                              \
  ELEMENT(copy, 1, arith) ELEMENT(negative, 1, arith) ELEMENT(positive, 1, arith)                 \
  ELEMENT(square, 1, arith) ELEMENT(sign, 1, arith) ELEMENT(conj, 1, arith)                       \
  ELEMENT(reciprocal, 1, arith) ELEMENT(add, 2, arith) ELEMENT(subtract, 2, arith)                \
  ELEMENT(multiply, 2, arith) ELEMENT(conj_multiply, 2, arith) /* conj(a)*b */                    \
  ELEMENT(floor_divide, 2, arith) ELEMENT(remainder, 2, arith) ELEMENT(power, 2, arith)           \
  ELEMENT(maximum, 2, arith) ELEMENT(minimum, 2, arith) ELEMENT(fmax, 2, arith)                   \
  ELEMENT(fmin, 2, arith) ELEMENT(multiply_add, 3, arith) /* a*b + c */                           \
  ELEMENT(where, 3, arith) /* first operand is the condition, bool */                             \
  ELEMENT(equal, 2, compare) ELEMENT(not_equal, 2, compare) ELEMENT(less, 2, compare)             \
  ELEMENT(less_equal, 2, compare) ELEMENT(greater, 2, compare)                                    \
  ELEMENT(greater_equal, 2, compare)                                                              \
  ELEMENT(logical_and, 2, logic) ELEMENT(logical_or, 2, logic) ELEMENT(logical_xor, 2, logic)     \
  ELEMENT(logical_not, 1, logic)                                                                  \
  ELEMENT(bitwise_and, 2, bits) ELEMENT(bitwise_or, 2, bits) ELEMENT(bitwise_xor, 2, bits)        \
  ELEMENT(invert, 1, bits) ELEMENT(left_shift, 2, bits) ELEMENT(right_shift, 2, bits)             \
  ELEMENT(divide, 2, math) ELEMENT(sqrt, 1, math) ELEMENT(exp, 1, math) ELEMENT(exp2, 1, math)    \
  ELEMENT(expm1, 1, math) ELEMENT(log, 1, math) ELEMENT(log2, 1, math) ELEMENT(log10, 1, math)    \
  ELEMENT(log1p, 1, math) ELEMENT(sin, 1, math) ELEMENT(cos, 1, math) ELEMENT(tan, 1, math)       \
  ELEMENT(arcsin, 1, math) ELEMENT(arccos, 1, math) ELEMENT(arctan, 1, math)                      \
  ELEMENT(sinh, 1, math) ELEMENT(cosh, 1, math) ELEMENT(tanh, 1, math) ELEMENT(arcsinh, 1, math)  \
  ELEMENT(arccosh, 1, math) ELEMENT(arctanh, 1, math)                                             \
  ELEMENT(cbrt, 1, real_math) ELEMENT(arctan2, 2, real_math) ELEMENT(hypot, 2, real_math)         \
  ELEMENT(copysign, 2, real_math) ELEMENT(floor, 1, real_math) ELEMENT(ceil, 1, real_math)        \
  ELEMENT(trunc, 1, real_math) ELEMENT(rint, 1, real_math)                                        \
  ELEMENT(isnan, 1, test) ELEMENT(isinf, 1, test) ELEMENT(isfinite, 1, test)                      \
  ELEMENT(signbit, 1, test)                                                                       \
  ELEMENT(absolute, 1, real_part) ELEMENT(abs2, 1, real_part) ELEMENT(real, 1, real_part)         \
  ELEMENT(imag, 1, real_part) ELEMENT(angle, 1, real_part)
// clang-format on

enum class ElementOp : std::uint8_t {
#define ELEMENT(name, arity, family) name,
  TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
};
enum class ElementFamily : std::uint8_t {
  arith,
  compare,
  logic,
  bits,
  math,
  real_math,
  test,
  real_part
};
TESSERA_API std::string_view name(ElementOp op);
TESSERA_API int arity(ElementOp op);
TESSERA_API ElementFamily family(ElementOp op);

// Operands of a launch: the inputs that are not immediate, in order, then the output.
struct ElementwiseSpec {
  ElementOp op = ElementOp::copy;
  // Inputs are converted to it (the condition of `where` to bool), the op's natural result from it
  // to out.dtype. float16 and bfloat16: immediates are rounded to it, the work is done in float and
  // rounded once, by the store. `copy` converts straight from the input's dtype and does not look
  // here.
  DType compute = DType::f32;
  struct Input {
    Operand operand;                 // layout already broadcast to the output's shape
    std::optional<Value> immediate;  // then `operand` is not used and takes no pointer
  };
  std::vector<Input> inputs;
  Operand out;  // may be exactly one of the inputs' memory (same layout); never a partial overlap
};

// The dtypes with which NumPy computes: {compute, result}; DTypeError with NumPy's kind of text for
// what it refuses (bitwise on floats, less on … ).
struct ElementTypes {
  DType compute, result;
};
TESSERA_API ElementTypes element_types(ElementOp op, std::span<const DType> inputs);

// An operand: an array, or a number that adapts to the arrays (NEP 50).
struct ArrayOrValue {
  Array array;
  Value value;
  ArrayOrValue(const Array& a) : array(a) {}
  ArrayOrValue(const Value& v) : value(v) {}
  ArrayOrValue(double v) : value(v) {}
  bool is_value() const { return !array; }
};

// The one general call: checks, promotes, broadcasts, allocates, launches. At least one operand is
// an array.
TESSERA_API Array elementwise(ElementOp op, std::span<const ArrayOrValue> inputs);
// Into `out` (NumPy's out=): same_kind casting; overlap with inputs is handled.
TESSERA_API void elementwise(ElementOp op, std::span<const ArrayOrValue> inputs, const Array& out);

// ops::add(x, y), ops::sqrt(x), …: every op by its name.
#define ELEMENT_1(op)                                                  \
  inline Array op(const ArrayOrValue& a) {                             \
    return elementwise(ElementOp::op, std::array<ArrayOrValue, 1>{a}); \
  }
#define ELEMENT_2(op)                                                     \
  inline Array op(const ArrayOrValue& a, const ArrayOrValue& b) {         \
    return elementwise(ElementOp::op, std::array<ArrayOrValue, 2>{a, b}); \
  }
#define ELEMENT_3(op)                                                                    \
  inline Array op(const ArrayOrValue& a, const ArrayOrValue& b, const ArrayOrValue& c) { \
    return elementwise(ElementOp::op, std::array<ArrayOrValue, 3>{a, b, c});             \
  }
#define ELEMENT(name, arity, family) ELEMENT_##arity(name)
namespace ops {
TESSERA_ELEMENT_OPS(ELEMENT)
}
#undef ELEMENT
#undef ELEMENT_1
#undef ELEMENT_2
#undef ELEMENT_3

}  // namespace tessera
