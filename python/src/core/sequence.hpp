// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items of a caller's sequence. Converting one of them may run the caller's code (__index__,
// __array__), which may change the list: the items are held by a tuple of their own.
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

// A tuple. TypeError with the text where there is nothing to walk through.
inline nb::object held_items(nb::handle sequence, const char* expected) {
  check_length(sequence);
  nb::object items = nb::steal(PySequence_Fast(sequence.ptr(), expected));
  if (items.is_valid() && PyList_Check(items.ptr())) items = nb::steal(PyList_AsTuple(items.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  return items;
}

}  // namespace tessera::python
