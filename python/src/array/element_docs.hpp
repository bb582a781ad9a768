// SPDX-License-Identifier: Apache-2.0
#pragma once
// One sentence and one example for each element-wise function; the examples run as tests. Which
// functions there are, and what they compute, is kernels/elementwise.
//   for (const ElementDoc& d : element_docs) m.def(d.name, ...);

#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::python {

struct ElementDoc {
  const char* name;
  ElementOp op;
  const char *text, *arguments, *result;
};

inline constexpr ElementDoc element_docs[] = {
    {"negative", ElementOp::negative, "-x.", "[1, -2]", "[-1, 2]"},
    {"positive", ElementOp::positive, "+x.", "[1, -2]", "[1, -2]"},
    {"square", ElementOp::square, "x * x.", "[3, -4]", "[9, 16]"},
    {"sign", ElementOp::sign, "-1, 0 or 1; x/|x| for complex x.", "[5, 0, -2]", "[1, 0, -1]"},
    {"conj", ElementOp::conj, "The complex conjugate.", "[1+2j]", "[(1-2j)]"},
    {"reciprocal", ElementOp::reciprocal, "1 / x.", "[4.0]", "[0.25]"},
    {"add", ElementOp::add, "x1 + x2.", "[1, 2], 10", "[11, 12]"},
    {"subtract", ElementOp::subtract, "x1 - x2.", "[1, 2], 10", "[-9, -8]"},
    {"multiply", ElementOp::multiply, "x1 * x2.", "[1, 2], 10", "[10, 20]"},
    {"conj_multiply", ElementOp::conj_multiply, "conj(x1) * x2.", "[1j], [2j]", "[(2+0j)]"},
    {"floor_divide", ElementOp::floor_divide, "The largest integer not above x1 / x2.",
     "[7, -7], 2", "[3, -4]"},
    {"remainder", ElementOp::remainder,
     "x1 - floor(x1 / x2) * x2: the sign of the divisor, as Python.", "[7, -7], 3", "[1, 2]"},
    {"power", ElementOp::power, "x1 ** x2.", "[2, 3], 3", "[8, 27]"},
    {"maximum", ElementOp::maximum, "The larger; NaN where one is.", "[1, 5], 3", "[3, 5]"},
    {"minimum", ElementOp::minimum, "The smaller; NaN where one is.", "[1, 5], 3", "[1, 3]"},
    {"fmax", ElementOp::fmax, "The larger; the other where one is NaN.", "[1.0, float(\"nan\")], 3",
     "[3.0, 3.0]"},
    {"fmin", ElementOp::fmin, "The smaller; the other where one is NaN.",
     "[1.0, float(\"nan\")], 3", "[1.0, 3.0]"},
    {"multiply_add", ElementOp::multiply_add, "x1 * x2 + x3 in one pass.", "[1, 2], 10, 1",
     "[11, 21]"},
    {"equal", ElementOp::equal, "x1 == x2.", "[1, 2], 2", "[False, True]"},
    {"not_equal", ElementOp::not_equal, "x1 != x2.", "[1, 2], 2", "[True, False]"},
    {"less", ElementOp::less, "x1 < x2.", "[1, 2], 2", "[True, False]"},
    {"greater", ElementOp::greater, "x1 > x2.", "[1, 2], 1", "[False, True]"},
    {"greater_equal", ElementOp::greater_equal, "x1 >= x2.", "[1, 2], 2", "[False, True]"},
    {"logical_and", ElementOp::logical_and, "Both are true (not zero).", "[1, 0], 2",
     "[True, False]"},
    {"logical_or", ElementOp::logical_or, "One is true (not zero).", "[1, 0], 0", "[True, False]"},
    {"logical_not", ElementOp::logical_not, "Zero.", "[1, 0]", "[False, True]"},
    {"bitwise_and", ElementOp::bitwise_and, "x1 & x2: bit by bit.", "[6, 5], 4", "[4, 4]"},
    {"bitwise_or", ElementOp::bitwise_or, "x1 | x2: bit by bit.", "[6, 5], 1", "[7, 5]"},
    {"bitwise_xor", ElementOp::bitwise_xor, "x1 ^ x2: bit by bit.", "[6, 5], 1", "[7, 4]"},
    {"invert", ElementOp::invert, "~x: every bit flipped; not for bool.", "[0, 5]", "[-1, -6]"},
    {"left_shift", ElementOp::left_shift, "x1 << x2.", "[1, 3], 2", "[4, 12]"},
    {"right_shift", ElementOp::right_shift, "x1 >> x2.", "[8, 3], 1", "[4, 1]"},
    {"sqrt", ElementOp::sqrt, "The square root.", "[4.0, 9.0]", "[2.0, 3.0]"},
    {"exp", ElementOp::exp, "e to the x.", "[0.0]", "[1.0]"},
    {"expm1", ElementOp::expm1, "exp(x) - 1 without loss near 0.", "[0.0]", "[0.0]"},
    {"log", ElementOp::log, "The natural logarithm.", "[1.0]", "[0.0]"},
    {"log10", ElementOp::log10, "The logarithm to base 10.", "[100.0]", "[2.0]"},
    {"log1p", ElementOp::log1p, "log(1 + x) without loss near 0.", "[0.0]", "[0.0]"},
    {"sin", ElementOp::sin, "The sine of radians.", "[0.0]", "[0.0]"},
    {"cos", ElementOp::cos, "The cosine of radians.", "[0.0]", "[1.0]"},
    {"tan", ElementOp::tan, "The tangent of radians.", "[0.0]", "[0.0]"},
    {"arcsin", ElementOp::arcsin, "The inverse sine.", "[0.0]", "[0.0]"},
    {"arccos", ElementOp::arccos, "The inverse cosine.", "[1.0]", "[0.0]"},
    {"sinh", ElementOp::sinh, "The hyperbolic sine.", "[0.0]", "[0.0]"},
    {"cosh", ElementOp::cosh, "The hyperbolic cosine.", "[0.0]", "[1.0]"},
    {"tanh", ElementOp::tanh, "The hyperbolic tangent.", "[0.0]", "[0.0]"},
    {"arcsinh", ElementOp::arcsinh, "The inverse hyperbolic sine.", "[0.0]", "[0.0]"},
    {"arccosh", ElementOp::arccosh, "The inverse hyperbolic cosine.", "[1.0]", "[0.0]"},
    {"arctanh", ElementOp::arctanh, "The inverse hyperbolic tangent.", "[0.0]", "[0.0]"},
    {"exp2", ElementOp::exp2, "2 to the x.", "[3.0]", "[8.0]"},
    {"arctan2", ElementOp::arctan2, "The angle of the point (x2, x1).", "[0.0], [1.0]", "[0.0]"},
    {"copysign", ElementOp::copysign, "x1 with the sign of x2.", "[1.5], [-2.0]", "[-1.5]"},
    {"floor", ElementOp::floor, "The largest integer not above x.", "[1.5, -1.5]", "[1.0, -2.0]"},
    {"trunc", ElementOp::trunc, "The integer part.", "[1.5, -1.5]", "[1.0, -1.0]"},
    {"rint", ElementOp::rint, "The nearest integer, ties to even.", "[0.5, 1.5]", "[0.0, 2.0]"},
    {"isinf", ElementOp::isinf, "Infinite.", "[1.0, float(\"inf\")]", "[False, True]"},
    {"isfinite", ElementOp::isfinite, "Neither infinite nor NaN.", "[1.0, float(\"inf\")]",
     "[True, False]"},
    {"signbit", ElementOp::signbit, "The sign bit is set: negative, -0.0 included.", "[1.0, -0.0]",
     "[False, True]"},
    {"abs2", ElementOp::abs2, "The squared magnitude, real.", "[3.0, 1.0]", "[9.0, 1.0]"},
    {"imag", ElementOp::imag, "The imaginary part.", "[1+2j]", "[2.0]"},
    {"angle", ElementOp::angle, "The argument in radians.", "[1j, 1]", "[1.5707963267948966, 0.0]"},
    {"logical_xor", ElementOp::logical_xor, "Exactly one is true (not zero).", "[1, 0], 1",
     "[False, True]"},
    {"hypot", ElementOp::hypot, "sqrt(x1**2 + x2**2) without overflow.", "[3.0], [4.0]", "[5.0]"},
    {"isnan", ElementOp::isnan, "Not a number.", "[1.0, float(\"nan\")]", "[False, True]"},
    {"divide", ElementOp::divide, "x1 / x2: at least float.", "[1, 3], 2", "[0.5, 1.5]"},
    {"absolute", ElementOp::absolute, "The magnitude.", "[3.0, -4.0]", "[3.0, 4.0]"},
    {"real", ElementOp::real, "The real part.", "[1+2j]", "[1.0]"},
    {"ceil", ElementOp::ceil, "The smallest integer not below x.", "[1.5, -1.5]", "[2.0, -1.0]"},
    {"arctan", ElementOp::arctan, "The inverse tangent.", "[0.0]", "[0.0]"},
    {"cbrt", ElementOp::cbrt, "The cube root.", "[8.0]", "[2.0]"},
    {"less_equal", ElementOp::less_equal, "x1 <= x2.", "[1, 2], 2", "[True, True]"},
    {"log2", ElementOp::log2, "The logarithm to base 2.", "[8.0]", "[3.0]"},
};

}  // namespace tessera::python
