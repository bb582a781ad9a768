// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who may hold how much where: budgets, use and peaks of devices, pinned memory and the disk.

#include "core/common.hpp"

namespace tessera::python {

void bind_budgets(nb::module_& m);

}  // namespace tessera::python
