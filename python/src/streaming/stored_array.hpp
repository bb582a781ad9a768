// SPDX-License-Identifier: Apache-2.0
#pragma once
// How arrays that are not in memory cross the border.

#include "core/common.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::python {

void bind_stored(nb::module_& m);
extern PyTypeObject* stored_type;
inline bool is_stored(PyObject* o) { return Py_TYPE(o) == stored_type; }

}  // namespace tessera::python
