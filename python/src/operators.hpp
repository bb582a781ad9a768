// SPDX-License-Identifier: Apache-2.0
#pragma once
// The catalogue of operators as Python classes: constructors, and which class shows which kind.
// Each group of operators has a file of its own, operators_<group>.cpp.
//   add_operator<Diagonal>(m, "Diagonal", doc, &diagonal, "weight"_a);   class_of_kind("Diagonal")

#include "linop.hpp"

namespace tessera::python {

void bind_operators(nb::module_& m, nb::class_<LinopObject>& base);
// The class of a kind; NamedLinop for kinds without their own.
nb::handle class_of_kind(std::string_view kind);
void set_class_of_kind(const char* kind, nb::handle c);

// Distinct C++ types, so that each is a Python class; all hold the same.
template <class Op>
struct OperatorObject : LinopObject {
  using LinopObject::LinopObject;
};

// A class whose constructor is `make`, which returns what wrap_linop gives.
template <class Op, class F, class... Extra>
void add_operator(nb::module_& m, const char* kind, const char* doc, F&& make,
                  const Extra&... extra) {
  nb::class_<OperatorObject<Op>, LinopObject> c(m, kind, doc);
  c.def(nb::new_(std::forward<F>(make)), extra...);
  set_class_of_kind(kind, c);
}

}  // namespace tessera::python
