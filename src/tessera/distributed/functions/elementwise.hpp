// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of distributed arrays, element by element: NumPy's broadcasting, dtypes and errors, as
// the local functions of the same names have them. The result takes the distribution of one operand:
// one with a split before one without, one that is not repeated along its split axis before one
// that is, then the first. The others are brought to it; operands that lie alike, arrays that every
// rank has, and numbers move nothing.
//   DNDarray z = dist::add(x, y);   const dist::Operand twice[] = {x, 2};
//   dist::elementwise(ElementOp::multiply, twice, x);   // x *= 2
//
// Errors are those of all ranks: shapes and dtypes are judged before a message is sent. One error
// depends on the data, negative integer powers of integers: the ranks agree on it (a byte each),
// and only where the exponent is a distributed array of signed integers.

#include <array>
#include <concepts>
#include <span>

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::dist {

// A distributed array, an array that is the same on every rank, or a number that adapts to them.
struct Operand {
  DNDarray distribution;
  Array array;
  Value value;
  Operand(const DNDarray& x) : distribution(x) {}
  Operand(const Array& x) : array(x) {}
  Operand(const Value& v) : value(v) {}
  Operand(double v) : value(v) {}
  template <std::integral T>
  Operand(T v) : value(v) {}
  bool is_value() const { return !distribution && !array; }
  const Shape& shape() const { return distribution ? distribution.shape() : array.shape(); }
  DType dtype() const { return distribution ? distribution.dtype() : array.dtype(); }
};

// At least one operand is a distributed array, else ArgumentError.
TESSERA_API DNDarray elementwise(ElementOp op, std::span<const Operand> inputs);
// Into an array that exists (NumPy's out= and in-place operators): it keeps its distribution.
TESSERA_API void elementwise(ElementOp op, std::span<const Operand> inputs, const DNDarray& out);

// The shape and distribution of what elementwise() makes of operands; pure arithmetic.
struct Target {
  Shape shape;
  Distribution distribution;
};
TESSERA_API Target elementwise_target(std::span<const Operand> inputs);

// The part of an operand that this rank needs where `to` is the distribution of a result of `shape`,
// ready to be broadcast against the other parts. Collective; no message where it lies there
// already.
TESSERA_API Array part_for(const DNDarray& x, const Shape& shape, const Distribution& to);
TESSERA_API Array part_for(const Array& x, const Shape& shape, const Distribution& to, int rank);

// dist::add(x, y), dist::sqrt(x), dist::where(c, x, y), …: every op by its name.
#define ELEMENT_1(op)                                             \
  inline DNDarray op(const Operand& a) {                          \
    return elementwise(ElementOp::op, std::array<Operand, 1>{a}); \
  }
#define ELEMENT_2(op)                                                \
  inline DNDarray op(const Operand& a, const Operand& b) {           \
    return elementwise(ElementOp::op, std::array<Operand, 2>{a, b}); \
  }
#define ELEMENT_3(op)                                                        \
  inline DNDarray op(const Operand& a, const Operand& b, const Operand& c) { \
    return elementwise(ElementOp::op, std::array<Operand, 3>{a, b, c});      \
  }
#define ELEMENT(name, arity, family) ELEMENT_##arity(name)
TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
#undef ELEMENT_1
#undef ELEMENT_2
#undef ELEMENT_3

}  // namespace tessera::dist
