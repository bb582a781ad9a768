// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the two binding files of the solvers share.
//   Prox g = prox_from(h, "fista");

#include "linop.hpp"
#include "tessera/solve/eigen.hpp"
#include "tessera/solve/options.hpp"
#include "tessera/solve/prox.hpp"

namespace tessera::python {

// Classes of options and results.
void bind_solve_options(nb::module_& m);
// A Checkpoint, a path, or None.
Checkpoint checkpoint_from(nb::handle h);
// A Prox, a function of (array, t), or None for no regulariser.
Prox prox_from(nb::handle h, std::string_view who);

}  // namespace tessera::python
