// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays on disk that are made of one number or of random ones, also in place of arrays that memory
// has no room for (tessera/_larger.py).

#include "core/common.hpp"

namespace tessera::python {

void bind_stored_creation(nb::module_& m);

}  // namespace tessera::python
