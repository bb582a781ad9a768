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
// An operand where it lies: of memory nothing is copied, since the call ends before it can change.
streaming::StoredArray in_place(nb::handle h, std::string_view who);
// An array of the host, or one on disk, to be written to: none of the operands.
streaming::StoredArray place_for(nb::handle out, std::string_view who,
                                 std::initializer_list<nb::handle> operands);
std::optional<Device> device_or_none(nb::handle h);
// Matrices of a form on disk.
extern PyTypeObject* stored_matrix_type;
inline bool is_stored_matrix(PyObject* o) { return Py_TYPE(o) == stored_matrix_type; }

}  // namespace tessera::python
