// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of arrays that are not in memory, for Python.

#include "core/common.hpp"

namespace tessera::python {

void bind_stored_transforms(nb::module_& m);

}  // namespace tessera::python
