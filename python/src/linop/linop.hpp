// SPDX-License-Identifier: Apache-2.0
#pragma once
// How names and operators cross the border: a Python object per node of an operator, so that A.H.H
// is A.
//   return wrap_linop(a.H());   Dims d = dims_from(h);

#include <memory>

#include "core/common.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera::python {

void bind_names(nb::module_& m);
void bind_named_shapes(nb::module_& m);
void bind_linop(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_fit(nb::module_& m);
void bind_solve(nb::module_& m);
void bind_split(nb::module_& m);

// --- names.cpp
// "NxNy", ND("Nx"), ("Nx", "Ny"), None (no dims).
Dims dims_from(nb::handle h);
// The same, with "..." for None.
Dims dims_or_any(nb::handle h);
NamedDimension dimension_from(nb::handle h);
nb::tuple tuple_of(const Dims& d);

// --- linop_object.cpp
class Reached;
// What a Python operator holds. Destroyed with its Python object, which then leaves the table of
// wrap_linop.
struct LinopObject {
  std::unique_ptr<Reached> reached;  // before op: it outlives it
  NamedLinop op;
  bool written = false;  // of a class written in Python, with methods of its own: written.hpp
  explicit LinopObject(NamedLinop a);
  LinopObject(const LinopObject&) = delete;
  ~LinopObject();
};
extern PyType_Slot linop_slots[];  // of each class of operators: what the garbage collector asks
// From now on this is the Python object of the operator that it holds.
void show_as(nb::handle self, const LinopObject* holder);
// The Python object of the operator: the one that exists, else a new one of the class of its kind.
nb::object wrap_linop(const NamedLinop& a);
// From now on the Python object holds another operator.
void show_instead(nb::handle self, const NamedLinop& other);
const NamedLinop& linop_from(nb::handle h, std::string_view who);
void set_linop_class(nb::handle c);  // NamedLinop
bool is_linop(nb::handle h);         // ready: not one that NamedLinop.__new__ left without one
// Checked, because Python lets a method be called on anything: NamedLinop.rename(3, {}).
const NamedLinop& held(nb::handle h);

// --- linop_algebra.cpp
void bind_algebra(nb::class_<LinopObject>& c);

// --- linop.cpp
// An event, (owner, name): what the owner has under that name, or None.
std::optional<RepeatedEvent> listener_from(nb::handle given, std::string_view who);

// A Python slice of one dim: ends may be open or negative where the size is known; nothing for all
// of it. `what` is the method that speaks.
std::optional<Cut> cut_from(const NamedLinop& a, NamedDimension d, nb::handle slice,
                            std::string_view what);

// --- split.cpp
// One slice per dim, so that x[slices] is the part.
nb::tuple slices_of(const Dims& names, const Tile& tile);
void bind_split_forward(nb::class_<LinopObject>& c);

// --- linop_repr_html.cpp
void bind_repr_html(nb::class_<LinopObject>& c);
void bind_memory_map(nb::module_& m);

// --- pickle.cpp
void bind_pickle(nb::module_& m, nb::class_<LinopObject>& c);

// --- call_errors.cpp
// From now on a call of a function or class of the module, or of a method of its classes, whose
// arguments do not fit the signature is a TypeError that tells which one, in a sentence.
void explain_calls(const nb::module_& m);

// --- signatures.cpp
// `inspect.signature` of what is compiled.
void give_signatures(const nb::module_& m);

// --- plan.cpp
nb::object make_plan(const NamedLinop& a, nb::handle x, nb::handle shape, nb::handle dtype,
                     nb::handle device);

}  // namespace tessera::python
