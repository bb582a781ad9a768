// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the factories that local and distributed arrays have alike.
//   const Range r = range_from(start, stop, step, dtype);   arange(r.from, r.to, r.by, r.dtype)

#include "core/common.hpp"

namespace tessera::python {

// --- creation.cpp
struct Range {
  Value from, to, by;
  DType dtype;
};
// arange(stop) or arange(start, stop); integers unless something is not.
Range range_from(nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype);

}  // namespace tessera::python
