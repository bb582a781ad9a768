// SPDX-License-Identifier: Apache-2.0
// Names and NumPy's rules of dtypes. The calls are in elementwise_eager.cpp.
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera {
namespace {

struct Row {
  std::string_view name;
  int arity;
  ElementFamily family;
};
constexpr Row rows[] = {
#define ELEMENT(name, arity, member) {#name, arity, ElementFamily::member},
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
};
const Row& row(ElementOp op) { return rows[static_cast<int>(op)]; }

[[noreturn]] void not_supported(ElementOp op) {
  throw DTypeError(
      cat("ufunc '", name(op),
          "' not supported for the input types, and the inputs could not be safely coerced to any "
          "supported types according to the casting rule ''safe''"));
}

// The float type in which NumPy computes functions of t.
DType at_least_float(DType t) { return is_inexact(t) ? t : promote(t, DType::f16); }

DType arith_of_bool(ElementOp op) {
  switch (op) {
    case ElementOp::negative:
      throw DTypeError(
          "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or "
          "the "
          "logical_not function instead.");
    case ElementOp::subtract:
      throw DTypeError(
          "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the "
          "`^` operator, "
          "or the logical_xor function instead.");
    case ElementOp::positive:
    case ElementOp::sign:
      throw DTypeError(cat("ufunc '", name(op),
                           "' did not contain a loop with signature matching types bool -> None"));
    case ElementOp::square:
    case ElementOp::conj:
    case ElementOp::reciprocal:
    case ElementOp::floor_divide:
    case ElementOp::remainder:
    case ElementOp::power: return DType::i8;
    default: return DType::b1;
  }
}

DType arith_type(ElementOp op, DType t) {
  if (t == DType::b1) return arith_of_bool(op);
  if (is_complex(t) && (op == ElementOp::floor_divide || op == ElementOp::remainder))
    not_supported(op);
  return t;
}

DType bits_type(ElementOp op, DType t) {
  if (is_inexact(t)) not_supported(op);
  const bool shift = op == ElementOp::left_shift || op == ElementOp::right_shift;
  return t == DType::b1 && shift ? DType::i8 : t;
}

DType real_math_type(ElementOp op, DType t) {
  if (is_complex(t) && op != ElementOp::rint) not_supported(op);
  const bool rounds = op == ElementOp::floor || op == ElementOp::ceil || op == ElementOp::trunc;
  return rounds ? t : at_least_float(t);
}

}  // namespace

std::string_view name(ElementOp op) { return row(op).name; }
int arity(ElementOp op) { return row(op).arity; }
ElementFamily family(ElementOp op) { return row(op).family; }

ElementTypes element_types(ElementOp op, std::span<const DType> inputs) {
  require<ArgumentError>(static_cast<int>(inputs.size()) == arity(op), name(op), ": takes ",
                         arity(op), " operands, got ", inputs.size());
  const std::size_t first =
      op == ElementOp::where ? 1 : 0;  // the condition has no part in the result
  DType t = inputs[first];
  for (std::size_t i = first + 1; i < inputs.size(); ++i) t = promote(t, inputs[i]);
  switch (family(op)) {
    case ElementFamily::arith: t = arith_type(op, t); return {t, t};
    case ElementFamily::compare: return {t, DType::b1};
    case ElementFamily::logic: return {DType::b1, DType::b1};
    case ElementFamily::bits: t = bits_type(op, t); return {t, t};
    case ElementFamily::math:
      t = op == ElementOp::divide && !is_inexact(t) ? DType::f64 : at_least_float(t);
      return {t, t};
    case ElementFamily::real_math:
      // NumPy takes the first loop that holds each input: int8 with uint8 is float16, not float32.
      if (inputs.size() == 2) t = promote(at_least_float(inputs[0]), at_least_float(inputs[1]));
      t = real_math_type(op, t);
      return {t, t};
    case ElementFamily::test:
      if (is_complex(t) && op == ElementOp::signbit) not_supported(op);
      return {at_least_float(t), DType::b1};
    case ElementFamily::real_part:
      if (op == ElementOp::angle) t = t == DType::b1 ? DType::f64 : at_least_float(t);
      return {t, real_of(t)};
  }
  return {t, t};
}

}  // namespace tessera
