// SPDX-License-Identifier: Apache-2.0
#pragma once
// The catalogue of operators as Python classes: constructors, and which class shows which kind.
//   bind_operators(m, base);   nb::handle c = class_of_kind("Diagonal");

#include "arguments.hpp"
#include "linop.hpp"

namespace tessera::python {

// Distinct C++ types, so that each operator is a Python class; all hold the same.
template <class T>
struct OperatorObject : LinopObject {
  using LinopObject::LinopObject;
};

// The class of a kind; NamedLinop for kinds without their own.
nb::handle class_of_kind(std::string_view kind);
void set_class_of_kind(const char* kind, nb::handle c);  // the module owns the class

// Every constructor takes name= besides its own arguments, unless the operator has a name itself.
nb::object named(nb::object linop, nb::handle name);
template <class R, class... Args>
auto with_name(R (*make)(Args...)) {
  return [make](Args... args, const TextArg& name) {
    return named(make(std::forward<Args>(args)...), name);
  };
}
template <class F, class R, class... Args>
auto with_name(F make, R (F::*)(Args...) const) {
  return [make](Args... args, const TextArg& name) {
    return named(make(std::forward<Args>(args)...), name);
  };
}
template <class F>
requires requires { &F::operator(); }
auto with_name(F make) { return with_name(make, &F::operator()); }

// One operator of the catalogue: `make` returns the Python operator, `extra` names its arguments.
template <class T, class F, class... Extra>
nb::class_<OperatorObject<T>, LinopObject> add_operator(nb::module_& m, const char* name,
                                                        const char* doc, F&& make,
                                                        const Extra&... extra) {
  nb::class_<OperatorObject<T>, LinopObject> c(m, name, doc);
  if constexpr (requires(T op) { op.label; })
    c.def(nb::new_(std::forward<F>(make)), extra...);
  else
    c.def(nb::new_(with_name(std::forward<F>(make))), extra..., nb::arg("name") = nb::none());
  set_class_of_kind(name, c);
  return c;
}
// A further constructor: Dense.from_einstr.
template <class F, class... Extra>
void add_constructor(nb::handle c, const char* name, F&& make, const Extra&... extra) {
  nb::setattr(c, name,
              nb::cpp_function(std::forward<F>(make), nb::name(name), nb::scope(c), extra...));
}

void bind_operators(nb::module_& m,
                    nb::class_<LinopObject>& base);  // the basic ones, then the groups
void bind_containers(nb::module_& m);
void bind_parts(nb::class_<LinopObject>& c);
void bind_operators_gridding(nb::module_& m);
void bind_operators_moves(nb::module_& m);
void bind_operators_blocks(nb::module_& m);

// Operators given as arguments; ArgumentError for none.
std::vector<NamedLinop> operators_from(const nb::args& args, const char* who);

}  // namespace tessera::python
