// SPDX-License-Identifier: Apache-2.0
#pragma once
// How .tessera files cross the border.

#include "core/common.hpp"

namespace tessera::python {

void bind_snapshot(nb::module_& m);

}  // namespace tessera::python
