// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every element-wise operation as a function with out=, made from the library's own list: once for
// local arrays, once for distributed ones (array_family.hpp, dist_family.hpp).
//   ElementFunctions<Local>::bind(m, "ts");

#include <array>
#include <span>

#include "array/element_docs.hpp"
#include "core/compared.hpp"
#include "dist/dist.hpp"

namespace tessera::python {

template <class Family>
class ElementFunctions {
  using Operand = typename Family::Operand;

 public:
  // `module`: where people find the functions, for the examples.
  static void bind(nb::module_& m, const char* module) {
    for (const ElementDoc& d : element_docs) {
      const std::string doc = cat(d.text, "\n\n>>> ", module, ".", d.name, "(", d.arguments,
                                  ").tolist()\n", d.result, "\n");
      bind_one(m, d.name, d.op, doc.c_str());
    }
    struct Alias {
      const char *name, *of;
    };
    constexpr Alias aliases[] = {
        {"abs", "absolute"},      {"true_divide", "divide"}, {"mod", "remainder"},
        {"conjugate", "conj"},    {"pow", "power"},          {"acos", "arccos"},
        {"asin", "arcsin"},       {"atan", "arctan"},        {"acosh", "arccosh"},
        {"asinh", "arcsinh"},     {"atanh", "arctanh"},      {"atan2", "arctan2"},
        {"bitwise_not", "invert"}};
    for (const Alias& a : aliases) m.attr(a.name) = m.attr(a.of);
  }

 private:
  static nb::object call(ElementOp op, std::span<const nb::handle> inputs, nb::handle out) {
    if (out.is_none())
      if (nb::object by_them = Family::of_matrices(op, inputs); by_them.is_valid()) return by_them;
    std::vector<Operand> operands;
    operands.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const nb::handle other = inputs[i == 0 ? inputs.size() - 1 : 0];
      const auto beyond = infinity_for(op, inputs[i], other);
      operands.push_back(beyond ? Operand(*beyond) : Family::operand(inputs[i], name(op), other));
    }
    Family::require_array(operands, inputs, name(op));
    if (out.is_none()) return wrap(Family::elementwise(op, operands));
    // NumPy's ufuncs also take out=(array,).
    nb::handle target = PyTuple_Check(out.ptr()) && PyTuple_GET_SIZE(out.ptr()) == 1
                            ? PyTuple_GET_ITEM(out.ptr(), 0)
                            : out.ptr();
    const auto& a = Family::target(target, name(op));
    released([&] { Family::elementwise(op, operands, a); });
    return nb::borrow(target);
  }

  // With where=: the rest of `out` stays, and is zero where there is none.
  static nb::object call(ElementOp op, std::span<const nb::handle> inputs, nb::handle out,
                         nb::handle where) {
    if (where.is_none() || where.ptr() == Py_True) return call(op, inputs, out);
    return nb::module_::import_("tessera._masked")
        .attr(Family::masked)
        .attr("elements")(call(op, inputs, nb::none()), out, where);
  }

  static std::string signature(std::string_view name, int arity) {
    const char* of[] = {"x: ArrayLike, /, ", "x1: ArrayLike, x2: ArrayLike, /, ",
                        "x1: ArrayLike, x2: ArrayLike, x3: ArrayLike, /, "};
    return cat("def ", name, "(", of[arity - 1], "*, out: ", Family::type_name,
               " | None = None, where: ArrayLike | None = None) -> ", Family::type_name);
  }

  static void bind_one(nb::module_& m, const char* python_name, ElementOp op, const char* doc) {
    const std::string sig = signature(python_name, arity(op));
    if (arity(op) == 1) {
      m.def(
          python_name,
          [op](nb::handle x, nb::handle out, nb::handle where) {
            return call(op, std::array{x}, out, where);
          },
          nb::arg("x"), nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("where") = nb::none(),
          nb::sig(sig.c_str()), doc);
    } else if (arity(op) == 2) {
      m.def(
          python_name,
          [op](nb::handle a, nb::handle b, nb::handle out, nb::handle where) {
            return call(op, std::array{a, b}, out, where);
          },
          nb::arg("x1"), nb::arg("x2"), nb::kw_only(), nb::arg("out") = nb::none(),
          nb::arg("where") = nb::none(), nb::sig(sig.c_str()), doc);
    } else {
      m.def(
          python_name,
          [op](nb::handle a, nb::handle b, nb::handle c, nb::handle out, nb::handle where) {
            return call(op, std::array{a, b, c}, out, where);
          },
          nb::arg("x1"), nb::arg("x2"), nb::arg("x3"), nb::kw_only(), nb::arg("out") = nb::none(),
          nb::arg("where") = nb::none(), nb::sig(sig.c_str()), doc);
    }
  }
};

}  // namespace tessera::python
