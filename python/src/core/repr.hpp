// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the caller gave, for the text of an error: only asked for once there is one, since a repr is
// the caller's code, may take long, and may hold what is no UTF-8.
//   if (!PyUnicode_Check(h.ptr())) throw DimError(cat("a dim is a name, got ", repr_of(h)));

#include "core/common.hpp"

namespace tessera::python {

inline std::string repr_of(nb::handle h) {
  const nb::object text = nb::steal(PyObject_Repr(h.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return PyBytes_AS_STRING(bytes.ptr());
}

}  // namespace tessera::python
