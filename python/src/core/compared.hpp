// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python integers beyond 64 bits beside arrays of integers: every element is smaller than one, or
// every element larger, and so a comparison asks for an infinity instead.
//   if (auto v = infinity_for(ElementOp::less, number, array)) operand = *v;

#include <limits>

#include "dist/dist.hpp"

namespace tessera::python {

// Nothing: the number, or whatever it is, has to be asked for itself.
inline std::optional<Value> infinity_for(ElementOp op, nb::handle number, nb::handle other) {
  if (!PyLong_Check(number.ptr()) || family(op) != ElementFamily::compare) return std::nullopt;
  int side = 0;
  PyLong_AsLongLongAndOverflow(number.ptr(), &side);
  if (side == 0) return std::nullopt;
  if (side > 0) {
    PyLong_AsUnsignedLongLong(number.ptr());
    if (!PyErr_Occurred()) return std::nullopt;
    PyErr_Clear();
  }
  std::optional<DType> met;
  if (is_dist(other.ptr()))
    met = dist_of(other.ptr()).dtype();
  else if (const auto array = try_array(other))
    met = array->dtype();
  if (!met || !is_integer(*met)) return std::nullopt;
  return Value(side * std::numeric_limits<double>::infinity());
}

}  // namespace tessera::python
