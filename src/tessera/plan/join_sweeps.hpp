// SPDX-License-Identifier: Apache-2.0
#pragma once
// Neighbouring steps over vectors become one pass: element-wise steps and sums of one length, and
// the program of scalars that follows them, where the device has the kernel `sweep`. What an
// iteration does between two applications of its operator is then bound by memory and not by
// launches. Steps say that they may be joined (Recorder::may_join); the order of all others stays.
//   join_sweeps(slots, steps);   // before lifetimes are found

#include "tessera/plan/step.hpp"

namespace tessera {

void join_sweeps(std::vector<Slot>& slots, std::vector<Step>& steps);

}  // namespace tessera
