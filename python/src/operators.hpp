// SPDX-License-Identifier: Apache-2.0
#pragma once
// The catalogue of operators as Python classes: constructors, and which class shows which kind.
//   bind_operators(m, base);   nb::handle c = class_of_kind("Diagonal");

#include <cstring>

#include "arguments.hpp"
#include "linop.hpp"
#include "tessera/linop/dim_sizes.hpp"

namespace tessera::python {

// Distinct C++ types, so that each operator is a Python class; all hold the same.
template <class T>
struct OperatorObject : LinopObject {
  using LinopObject::LinopObject;
};

// The class of a kind; NamedLinop for kinds without their own.
nb::handle class_of_kind(std::string_view kind);
void set_class_of_kind(const char* kind, nb::handle c);  // the module owns the class

// An operator that was just made: DimError for a name that it has twice on one side.
nb::object checked(nb::object linop, const char* kind);
// Within a catch: the error goes on, naming the operator where it does not yet.
[[noreturn]] void rethrow_naming(const char* kind);
template <class Make, class... Args>
nb::object construct(const char* kind, const Make& make, Args&&... args) {
  try {
    return checked(make(std::forward<Args>(args)...), kind);
  } catch (const Error&) {
    rethrow_naming(kind);
  }
}

// Every constructor takes name= besides its own arguments, unless the operator has a name itself.
nb::object named(nb::object linop, nb::handle name, const char* kind);
// The name that was given; empty for None, DTypeError for what is not a text.
std::string name_from(nb::handle name, const char* kind);
template <bool takes_name, class Make, class R, class... Args>
auto constructor(const char* kind, Make make, R (*)(Args...)) {
  if constexpr (takes_name)
    return [kind, make](Args... args, const TextArg& name) {
      return named(construct(kind, make, std::forward<Args>(args)...), name, kind);
    };
  else
    return
        [kind, make](Args... args) { return construct(kind, make, std::forward<Args>(args)...); };
}
template <bool takes_name, class Make, class F, class R, class... Args>
auto constructor(const char* kind, Make make, R (F::*)(Args...) const) {
  return constructor<takes_name>(kind, make, static_cast<R (*)(Args...)>(nullptr));
}
template <bool takes_name, class F>
auto constructor(const char* kind, F make) {
  if constexpr (requires { &F::operator(); })
    return constructor<takes_name>(kind, make, &F::operator());
  else
    return constructor<takes_name>(kind, make, make);
}

// "Dense", also where the class's record has its module in front.
inline const char* class_name(nb::handle c) {
  const char* whole = reinterpret_cast<PyTypeObject*>(c.ptr())->tp_name;
  const char* dot = std::strrchr(whole, '.');
  return dot ? dot + 1 : whole;
}

// One operator of the catalogue: `make` returns the Python operator, `extra` names its arguments.
template <class T, class F, class... Extra>
nb::class_<OperatorObject<T>, LinopObject> add_operator(nb::module_& m, const char* name,
                                                        const char* doc, F&& make,
                                                        const Extra&... extra) {
  nb::class_<OperatorObject<T>, LinopObject> c(m, name, doc);
  if constexpr (requires(T op) { op.label; })
    c.def(nb::new_(constructor<false>(name, std::forward<F>(make))), extra...);
  else
    c.def(nb::new_(constructor<true>(name, std::forward<F>(make))), extra...,
          nb::arg("name") = nb::none());
  set_class_of_kind(name, c);
  return c;
}
// A further constructor: Dense.from_einstr.
template <class F, class... Extra>
void add_constructor(nb::handle c, const char* name, F&& make, const Extra&... extra) {
  const char* kind = class_name(c);
  nb::setattr(c, name,
              nb::cpp_function(constructor<false>(kind, std::forward<F>(make)), nb::name(name),
                               nb::scope(c), extra...));
}

void bind_operators(nb::module_& m,
                    nb::class_<LinopObject>& base);  // the basic ones, then the groups
void bind_containers(nb::module_& m);
void bind_parts(nb::class_<LinopObject>& c);
void bind_operators_gridding(nb::module_& m);
void bind_operators_moves(nb::module_& m);
void bind_operators_blocks(nb::module_& m);

// {dim: number}; none for None.
DimSizes sizes_from(nb::handle h, std::string_view who);
// Operators given as arguments; ArgumentError for none.
std::vector<NamedLinop> operators_from(const nb::args& args, const char* who);

}  // namespace tessera::python
