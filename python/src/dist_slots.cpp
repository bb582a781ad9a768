// SPDX-License-Identifier: Apache-2.0
// The type slots of DNDarray: keys, length, iteration.
#include "dist.hpp"

namespace tessera::python {

namespace {

nb::object single(PyObject* self) {
  const DNDarray& x = dist_of(self);
  if (x.size() != 1)
    raise(PyExc_TypeError, "only length-1 arrays can be converted to Python scalars");
  return nb::steal(python_number(released([&] { return x.item(); })));
}

PyObject* to_int(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return PyNumber_Long(single(self).ptr()); });
}

PyObject* to_float(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr),
                 [&] { return PyNumber_Float(single(self).ptr()); });
}

PyObject* to_index(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const DNDarray& x = dist_of(self);
    if (x.ndim() != 0 || !is_integer(x.dtype()))
      raise(PyExc_TypeError, "only integer scalar arrays can be converted to a scalar index");
    return single(self).release().ptr();
  });
}

int truth(PyObject* self) noexcept {
  return guarded(-1, [&] { return PyObject_IsTrue(single(self).ptr()); });
}

PyObject* iterate(PyObject* self) noexcept { return PySeqIter_New(self); }

template <class F>
PyType_Slot slot(int id, F f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

std::vector<PyType_Slot> dist_slots() {
  return {slot(Py_mp_subscript, dist_subscript),
          slot(Py_mp_ass_subscript, dist_assign_subscript),
          slot(Py_mp_length, dist_length),
          slot(Py_sq_item, dist_item),
          slot(Py_sq_length, dist_length),
          slot(Py_nb_int, to_int),
          slot(Py_nb_float, to_float),
          slot(Py_nb_index, to_index),
          slot(Py_nb_bool, truth),
          slot(Py_tp_iter, iterate),
          {0, nullptr}};
}

}  // namespace tessera::python
