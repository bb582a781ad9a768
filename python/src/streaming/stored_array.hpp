// SPDX-License-Identifier: Apache-2.0
#pragma once
// How arrays that are not in memory cross the border.

#include "core/common.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::python {

void bind_stored(nb::module_& m);
// An array, or a matrix where the file says that it holds one of a form.
nb::object open_stored(const std::string& path, bool writable, const std::string& dataset);
extern PyTypeObject* stored_type;
inline bool is_stored(PyObject* o) { return Py_TYPE(o) == stored_type; }
// Matrices of a form on disk.
extern PyTypeObject* stored_matrix_type;
inline bool is_stored_matrix(PyObject* o) { return Py_TYPE(o) == stored_matrix_type; }

}  // namespace tessera::python
