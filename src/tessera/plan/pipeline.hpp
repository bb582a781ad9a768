// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of steps in which the parts of a container overlap: while a device computes one part,
// the next one's input is on its way to it and the previous one's output on its way back. Liveness
// then gives each of them memory of its own (two buffers), and lanes do the rest. Only parts that
// compute away from where the container's data live are moved; every step keeps its place behind
// the steps that it depends on.
//   pipeline(slots, steps);   // before liveness

#include <vector>

#include "tessera/plan/step.hpp"

namespace tessera {

TESSERA_API void pipeline(const std::vector<Slot>& slots, std::vector<Step>& steps);

}  // namespace tessera
