// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the two binding files of the solvers share.
//   Prox g = prox_from(h, "fista");

#include "linop/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/proximal/prox.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera::python {

// Classes of options and results.
void bind_solve_options(nb::module_& m);
// A Checkpoint, a path, or None.
Checkpoint checkpoint_from(nb::handle h);
// A Prox, a function of (array, t), or None for no regulariser.
Prox prox_from(nb::handle h, std::string_view who);

}  // namespace tessera::python
