// SPDX-License-Identifier: Apache-2.0
#pragma once
// The binding of tessera/compute.

#include "core/common.hpp"

namespace tessera::python {

void bind_compute(nb::module_& m);

}  // namespace tessera::python
