// SPDX-License-Identifier: Apache-2.0
// Which Python object shows which operator, and what the garbage collector may know of it.
#include "core/callables.hpp"
#include "linop/linop.hpp"
#include "linop/operators.hpp"
#include "linop/written.hpp"

#include <unordered_map>

namespace tessera::python {

namespace {

// Note [one Python object per node]: A.H is made once per node in C++, and Python compares with
// `is`. The table maps a node to the Python object that holds it; entries leave with the object.
// Guarded by the interpreter's lock.
struct Known {
  PyObject* object;
  const LinopObject* holder;
};
std::unordered_map<const void*, Known>& table() {
  static auto* t = new std::unordered_map<const void*, Known>;  // outlives every Python object
  return *t;
}

PyTypeObject* linop_type = nullptr;  // the class NamedLinop

// An object of a subclass written in Python refers to the operator of its class, which owns it all.
int traverse_linop(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  const auto [ready, owns] = nb::inst_state(self);
  if (!ready) return 0;
  const LinopObject& a = *nb::inst_ptr<LinopObject>(self);
  if (owns) return a.reached->traverse(visit, arg);
  const auto it = table().find(a.op.id());
  if (it != table().end() && it->second.object != self) Py_VISIT(it->second.object);
  return 0;
}

}  // namespace

void set_linop_class(nb::handle c) { linop_type = reinterpret_cast<PyTypeObject*>(c.ptr()); }

bool is_linop(nb::handle h) { return PyObject_TypeCheck(h.ptr(), linop_type) && nb::inst_ready(h); }

const NamedLinop& held(nb::handle h) {
  require<DTypeError>(is_linop(h), "NamedLinop: expected an operator, got ",
                      Py_TYPE(h.ptr())->tp_name);
  return nb::inst_ptr<LinopObject>(h)->op;
}

PyType_Slot linop_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_linop)},
                             {0, nullptr}};

LinopObject::LinopObject(NamedLinop a) : reached(std::make_unique<Reached>()), op(std::move(a)) {
  reached->add(op);
}

LinopObject::~LinopObject() {
  auto it = table().find(op.id());
  if (it != table().end() && it->second.holder == this) table().erase(it);
}

void show_as(nb::handle self, const LinopObject* holder) {
  table().emplace(holder->op.id(), Known{self.ptr(), holder});
}

nb::object wrap_linop(const NamedLinop& a) {
  if (auto it = table().find(a.id()); it != table().end()) return nb::borrow(it->second.object);
  nb::object o = written_object(a);
  if (!o.is_valid()) {
    o = nb::inst_alloc(class_of_kind(a.kind()));
    new (nb::inst_ptr<void>(o)) LinopObject(a);
    nb::inst_mark_ready(o);
  }
  show_as(o, nb::inst_ptr<LinopObject>(o));
  return o;
}

void show_instead(nb::handle self, const NamedLinop& other) {
  auto* holder = nb::inst_ptr<LinopObject>(self);
  if (const auto it = table().find(holder->op.id());
      it != table().end() && it->second.holder == holder)
    table().erase(it);
  holder->op = other;
  show_as(self, holder);
}

const NamedLinop& linop_from(nb::handle h, std::string_view who) {
  require<DTypeError>(is_linop(h), who, ": expected an operator, got ", Py_TYPE(h.ptr())->tp_name);
  return held(h);
}

}  // namespace tessera::python
