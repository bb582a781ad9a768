// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel that takes time and does nothing else: for tests of overlap. The stream that it runs on
// waits, the host does not (on the cpu they are the same).
//   r.launch(&KernelTable::sleep, "sleep", SleepSpec{0.1}, {}, y, {.updates = true});

#include "tessera/kernels/kernel.hpp"

namespace tessera {

// Operands of a launch: none is looked at.
struct SleepSpec {
  double seconds = 0;
};

}  // namespace tessera
