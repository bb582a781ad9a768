// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed arrays for the templates that serve local and distributed arrays alike: see
// array_family.hpp. An operand may be distributed, local (the same on every rank), of NumPy, or a
// number.
//   NumberSlots<Distributed>::list();   ElementFunctions<Distributed>::bind(m, "ts.dist");

#include <span>

#include "core/beside.hpp"
#include "dist/dist.hpp"
#include "tessera/distributed/functions/elementwise.hpp"

namespace tessera::python {

struct Distributed {
  using Type = DNDarray;
  using Operand = dist::Operand;
  static constexpr const char* type_name = "DNDarray";
  static constexpr const char* masked = "distributed";  // in tessera/_masked.py

  static bool is(PyObject* o) { return is_dist(o); }
  static const DNDarray& of(PyObject* o) { return dist_of(o); }
  // By x += y. In x[::-1] += y a copy is computed with and then assigned: nobody else sees it.
  static DNDarray written(PyObject* o) { return is_passing(o) ? dist_of(o).owned() : dist_of(o); }

  static std::optional<Operand> try_operand(PyObject* o, PyObject* other) {
    if (is_dist(o)) return Operand(dist_of(o));
    if (is_array(o)) return Operand(array_of(o));
    if (auto v = weak_value(o, float_dtype(other))) return Operand(*v);
    if (PyUnicode_Check(o) || PyBytes_Check(o)) return std::nullopt;
    if (auto a = try_array(o)) return Operand(beside(std::move(*a), o, other));
    return std::nullopt;
  }
  static nb::object of_matrices(ElementOp, std::span<const nb::handle>) { return {}; }
  static Operand operand(nb::handle h, std::string_view who, nb::handle other = {}) {
    if (is_dist(h.ptr())) return Operand(dist_of(h.ptr()));
    if (auto v = weak_value(h.ptr(), float_dtype(other.ptr()))) return Operand(*v);
    return Operand(beside(as_array(h, who), h, other));
  }
  // The library wants a distributed array among the operands: what every rank has becomes one.
  static void require_array(std::span<Operand> operands, std::span<const nb::handle> from,
                            std::string_view who) {
    for (const Operand& o : operands)
      if (o.distribution) return;
    bool found = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].is_value()) continue;
      operands[i] = Operand(as_dist(from[i], who));
      found = true;
    }
    if (found) return;
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = Operand(as_dist(from[i], who));
  }
  static const DNDarray& target(nb::handle h, std::string_view who) {
    require<DTypeError>(is_dist(h.ptr()), who, ": out must be a DNDarray, got ",
                        Py_TYPE(h.ptr())->tp_name);
    return dist_of(h.ptr());
  }

  static DNDarray elementwise(ElementOp op, std::span<const Operand> inputs) {
    return released([&] { return dist::elementwise(op, inputs); });
  }
  static void elementwise(ElementOp op, std::span<const Operand> inputs, const DNDarray& out) {
    dist::elementwise(op, inputs, out);
  }
};

}  // namespace tessera::python
