// SPDX-License-Identifier: Apache-2.0
#pragma once
// The catalogue of operators as Python classes: constructors, and which class shows which kind.
//   bind_operators(m, base);   nb::handle c = class_of_kind("Diagonal");

#include <cstring>

#include "core/arguments.hpp"
#include "linop/linop.hpp"
#include "tessera/linop/core/dim_sizes.hpp"

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

// Note [operators own their arrays]: an operator remembers what it made of its arrays (adjoint,
// normal, plans), so nobody else may write to them. What is given as ArrayArg is copied before the
// operator is made, unless the caller says copy=False; what is only read is given as ReadArg.
ArrayArg owned(const ArrayArg& given);
template <class A>
constexpr bool is_kept = std::same_as<std::remove_cvref_t<A>, ArrayArg>;
template <class A>
decltype(auto) held_by_operator(A&& given, [[maybe_unused]] bool copy) {
  if constexpr (is_kept<A>)
    return copy ? owned(given) : nb::borrow<ArrayArg>(given);
  else
    return std::forward<A>(given);
}
// Within a catch: the error goes on, naming the operator where it does not yet.
[[noreturn]] void rethrow_naming(const char* kind);
template <class Make, class... Args>
nb::object construct(const char* kind, const Make& make, bool copy, Args&&... args) {
  try {
    return checked(make(held_by_operator(std::forward<Args>(args), copy)...), kind);
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
  constexpr bool keeps = (is_kept<Args> || ...);
  if constexpr (takes_name && keeps)
    return [kind, make](Args... args, const TextArg& name, bool copy) {
      return named(construct(kind, make, copy, std::forward<Args>(args)...), name, kind);
    };
  else if constexpr (takes_name)
    return [kind, make](Args... args, const TextArg& name) {
      return named(construct(kind, make, false, std::forward<Args>(args)...), name, kind);
    };
  else if constexpr (keeps)
    return [kind, make](Args... args, bool copy) {
      return construct(kind, make, copy, std::forward<Args>(args)...);
    };
  else
    return [kind, make](Args... args) {
      return construct(kind, make, false, std::forward<Args>(args)...);
    };
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

// Whether a function that makes an operator takes arrays that the operator keeps.
template <class R, class... Args>
constexpr bool keeps_arrays(R (*)(Args...)) {
  return (is_kept<Args> || ...);
}
template <class F, class R, class... Args>
constexpr bool keeps_arrays(R (F::*)(Args...) const) {
  return (is_kept<Args> || ...);
}
template <class F>
constexpr bool keeps_arrays() {
  if constexpr (requires { &F::operator(); })
    return keeps_arrays(&F::operator());
  else
    return keeps_arrays(F{});
}

// "Dense", also where the class's record has its module in front.
inline const char* class_name(nb::handle c) {
  const char* whole = reinterpret_cast<PyTypeObject*>(c.ptr())->tp_name;
  const char* dot = std::strrchr(whole, '.');
  return dot ? dot + 1 : whole;
}

// The documentation of a class or function with what is known of its arguments (operator_parameters*.cpp).
const char* documented(const char* kind, const char* doc, bool keeps_arrays = false);
const char* parameters_of_grids(const char* kind);

// One operator of the catalogue: `make` returns the Python operator, `extra` names its arguments.
template <class T, class F, class... Extra>
nb::class_<OperatorObject<T>, LinopObject> add_operator(nb::module_& m, const char* name,
                                                        const char* doc, F&& make,
                                                        const Extra&... extra) {
  constexpr bool has_label = requires(T op) { op.label; };
  constexpr bool copies = !has_label && keeps_arrays<std::decay_t<F>>();
  nb::class_<OperatorObject<T>, LinopObject> c(m, name, documented(name, doc, copies),
                                               nb::type_slots(linop_slots));
  auto made = constructor<!has_label>(name, std::forward<F>(make));
  if constexpr (has_label)
    c.def(nb::new_(std::move(made)), extra...);
  else if constexpr (copies)
    c.def(nb::new_(std::move(made)), extra..., nb::arg("name") = nb::none(), nb::kw_only(),
          nb::arg("copy") = true);
  else
    c.def(nb::new_(std::move(made)), extra..., nb::arg("name") = nb::none());
  set_class_of_kind(name, c);
  return c;
}
// A further constructor: Dense.from_einstr.
template <class F, class... Extra>
void add_constructor(nb::handle c, const char* name, F&& make, const Extra&... extra) {
  const char* kind = class_name(c);
  const auto made = constructor<false>(kind, std::forward<F>(make));
  if constexpr (keeps_arrays<std::decay_t<F>>())
    nb::setattr(c, name,
                nb::cpp_function(made, nb::name(name), nb::scope(c), extra..., nb::kw_only(),
                                 nb::arg("copy") = true));
  else
    nb::setattr(c, name, nb::cpp_function(made, nb::name(name), nb::scope(c), extra...));
}

void bind_operators(nb::module_& m,
                    nb::class_<LinopObject>& base);  // the basic ones, then the groups
void bind_containers(nb::module_& m);
void bind_parts(nb::class_<LinopObject>& c);
void bind_operators_gridding(nb::module_& m);
void bind_operators_moves(nb::module_& m);
void bind_trajectories(nb::module_& m);
void bind_operators_rays(nb::module_& m);
void bind_operators_blocks(nb::module_& m);

// {dim: number}; none for None.
DimSizes sizes_from(nb::handle h, std::string_view who);
// Operators given as arguments; ArgumentError for none.
std::vector<NamedLinop> operators_from(const nb::args& args, const char* who);

}  // namespace tessera::python
