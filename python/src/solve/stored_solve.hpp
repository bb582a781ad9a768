// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solvers with vectors on disk.

#include "core/common.hpp"

namespace tessera::python {

void bind_stored_solve(nb::module_& m);

}  // namespace tessera::python
