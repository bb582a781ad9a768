// SPDX-License-Identifier: Apache-2.0
#pragma once
// split=, device= and comm= of the factories of distributed arrays.
//   dist::zeros(shape, dtype, options_from(split, device, comm))

#include "dist/dist.hpp"
#include "tessera/distributed/array/create.hpp"

namespace tessera::python {

// --- dist_creation.cpp
dist::Options options_from(nb::handle split, nb::handle device, nb::handle comm);

}  // namespace tessera::python
