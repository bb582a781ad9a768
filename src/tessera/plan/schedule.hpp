// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which step runs on which stream, and who waits for whom: decided once, when the plan is made.
// Each device has a compute lane; transfers between two devices have a lane of their own, so that
// they overlap computation. Two steps on different lanes are ordered when one writes memory that
// the other touches, arena bytes that were reused included.
//   std::vector<Lane> lanes = schedule(slots, steps);

#include <vector>

#include "tessera/plan/step.hpp"

namespace tessera {

// Sets Step::lane, waits and signals. Slots must have their offsets.
TESSERA_API std::vector<Lane> schedule(const std::vector<Slot>& slots, std::vector<Step>& steps);

}  // namespace tessera
