// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is one number or one flag, and the items of a caller's sequence. Converting one of them may
// run the caller's code (__index__, __array__), which may change the list: the items are held by a
// tuple of their own.
//   const nb::object items = held_items(h, "expected a sequence of arrays");

#include "core/common.hpp"
#include "tessera/device/host_limits.hpp"

namespace tessera::python {

// OutOfMemory, before the first of them is made, where a sequence (a range) has more items than the
// memory has room for.
inline void check_length(nb::handle sequence) {
  constexpr i64 each = 64, most = i64{1} << 56;  // bytes of a number and of its places
  const Py_ssize_t n = PyObject_Size(sequence.ptr());
  if (n < 0) return PyErr_Clear();  // whoever walks through it says what it is
  check_host_memory("a sequence of numbers or arrays", std::min<i64>(n, most) * each);
}

// An array without axes, which the protocol of sequences takes for one: it is a number.
inline bool has_no_axes(nb::handle h) {
  if (PyTuple_Check(h.ptr()) || PyList_Check(h.ptr()) || !nb::hasattr(h, "shape")) return false;
  const nb::object shape = h.attr("shape");
  return PyTuple_Check(shape.ptr()) && PyTuple_GET_SIZE(shape.ptr()) == 0;
}
inline bool has_items(nb::handle h) { return PySequence_Check(h.ptr()) != 0 && !has_no_axes(h); }
// Of Python, of NumPy or an array without axes.
inline bool is_one_integer(nb::handle h) {
  return PyLong_Check(h.ptr()) || (PyIndex_Check(h.ptr()) != 0 && !has_items(h));
}

// What is given for a flag as one of Python: NumPy has its own, and 0 and 1 are taken for them
// (tessera/_checked.py). Nothing for all else.
inline nb::handle flag_of(nb::handle value) {
  PyObject* const p = value.ptr();
  if (PyBool_Check(p)) return {};
  int truth = -1;
  if (PyLong_CheckExact(p)) {
    const long n = PyLong_AsLong(p);
    PyErr_Clear();
    truth = n == 0 || n == 1 ? static_cast<int>(n) : -1;
  } else if (has_no_axes(value) && nb::hasattr(value, "dtype") &&
             nb::hasattr(value.attr("dtype"), "kind") &&
             value.attr("dtype").attr("kind").equal(nb::str("b"))) {
    truth = PyObject_IsTrue(p);
    PyErr_Clear();
  }
  return truth < 0 ? nb::handle() : nb::handle(truth == 1 ? Py_True : Py_False);
}
// Of an argument that is a flag, or None in another place.
inline bool flag_from(nb::handle h, const char* name) {
  const nb::handle flag = PyBool_Check(h.ptr()) ? h : flag_of(h);
  require<DTypeError>(flag.is_valid(), name, ": expected True or False, got ",
                      Py_TYPE(h.ptr())->tp_name);
  return flag.ptr() == Py_True;
}

// A tuple. TypeError with the text where there is nothing to walk through.
inline nb::object held_items(nb::handle sequence, const char* expected) {
  check_length(sequence);
  nb::object items = nb::steal(PySequence_Fast(sequence.ptr(), expected));
  if (items.is_valid() && PyList_Check(items.ptr())) items = nb::steal(PyList_AsTuple(items.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  return items;
}

}  // namespace tessera::python
