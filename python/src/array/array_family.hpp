// SPDX-License-Identifier: Apache-2.0
#pragma once
// Local arrays for the templates that serve local and distributed arrays alike (number_slots.hpp,
// element_functions.hpp): what an array is, what an operand, and how to compute with them.
//   NumberSlots<Local>::list();   ElementFunctions<Local>::bind(m, "ts");

#include <span>

#include "core/beside.hpp"
#include "dist/dist.hpp"
#include "matrix/matrix.hpp"

namespace tessera::python {

struct Local {
  using Type = Array;
  using Operand = ArrayOrValue;
  static constexpr const char* type_name = "Array";
  static constexpr const char* masked = "local";  // in tessera/_masked.py

  static bool is(PyObject* o) { return is_array(o); }
  static const Array& of(PyObject* o) { return array_of(o); }
  static const Array& written(PyObject* o) { return array_of(o); }  // by x += y

  // Nothing: let Python ask the other operand.
  static std::optional<Operand> try_operand(PyObject* o, PyObject* other) {
    if (is_array(o)) return Operand(array_of(o));
    if (auto v = weak_value(o, float_dtype(other))) return Operand(*v);
    if (PyUnicode_Check(o) || PyBytes_Check(o) || is_dist(o) || is_matrix(o)) return std::nullopt;
    if (auto a = try_array(o)) return Operand(beside(std::move(*a), o, other));
    return std::nullopt;
  }
  static Operand operand(nb::handle h, std::string_view who, nb::handle other) {
    return python::operand(h, who, other);
  }
  // Matrices add, subtract, multiply and divide by their own rules. Nothing: there are none.
  static nb::object of_matrices(ElementOp op, std::span<const nb::handle> inputs) {
    if (inputs.size() != 2 || (is_array(inputs[0].ptr()) && is_array(inputs[1].ptr()))) return {};
    if (!is_matrix(inputs[0]) && !is_matrix(inputs[1])) return {};
    PyObject *const a = inputs[0].ptr(), *const b = inputs[1].ptr();
    PyObject* result = nullptr;
    switch (op) {
      case ElementOp::add: result = PyNumber_Add(a, b); break;
      case ElementOp::subtract: result = PyNumber_Subtract(a, b); break;
      case ElementOp::multiply: result = PyNumber_Multiply(a, b); break;
      case ElementOp::divide: result = PyNumber_TrueDivide(a, b); break;
      default: return {};
    }
    if (!result) throw nb::python_error();
    return nb::steal(result);
  }
  // The library wants an array among the operands: numbers alone become arrays of rank 0.
  static void require_array(std::span<Operand> operands, std::span<const nb::handle> from,
                            std::string_view who) {
    for (const Operand& o : operands)
      if (!o.is_value()) return;
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = as_array(from[i], who);
  }
  static const Array& target(nb::handle h, std::string_view who) { return target_array(h, who); }

  // Small arrays keep the interpreter's lock: to give it away and to take it again costs as much as
  // they do.
  static Array elementwise(ElementOp op, std::span<const Operand> inputs) {
    constexpr i64 small = 1024;
    for (const Operand& x : inputs)
      if (!x.is_value() && (x.array.size() > small || x.array.device().kind != Kind::cpu))
        return released([&] { return tessera::elementwise(op, inputs); });
    return tessera::elementwise(op, inputs);
  }
  static void elementwise(ElementOp op, std::span<const Operand> inputs, const Array& out) {
    tessera::elementwise(op, inputs, out);
  }
};

}  // namespace tessera::python
