// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of calls on arrays that are not in memory, for Python.

#include "core/common.hpp"

namespace tessera::python {

void bind_stored_plan(nb::module_& m);

}  // namespace tessera::python
