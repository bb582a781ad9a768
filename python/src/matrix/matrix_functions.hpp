// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic for the classes of tessera.matrix and its functions.
//   bind_matrix_functions(module, class_of_any_matrix);

#include "matrix/matrix.hpp"

namespace tessera::python {

void bind_matrix_functions(nb::module_& m, nb::class_<AnyMatrix>& c);

}  // namespace tessera::python
