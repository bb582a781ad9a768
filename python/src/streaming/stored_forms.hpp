// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices of every form on disk: the class StoredMatrix and what tessera/_stored_forms.py makes
// methods of.

#include "core/common.hpp"

namespace tessera::python {

void bind_stored_forms(nb::module_& m);

}  // namespace tessera::python
