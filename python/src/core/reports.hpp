// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of a log and bars of progress, handed to what Python has for them (tessera._reports).
//   bind_reports(m);

#include "core/common.hpp"

namespace tessera::python {

void bind_reports(nb::module_& m);

}  // namespace tessera::python
