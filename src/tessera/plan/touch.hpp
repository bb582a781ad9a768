// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which memory a step touches, and whether two steps may change places: what orders steps when they
// are moved (pipeline.hpp) and when they run on different lanes (schedule.hpp).
//   const Touches a = touches(slots, steps[0]), b = touches(slots, steps[1]);   conflict(a, b)

#include <vector>

#include "tessera/plan/step.hpp"

namespace tessera {

// A range of bytes: of the arena of a device once slots have their offsets, else of a slot.
struct Touch {
  int root;
  bool arena;
  Device device;
  std::optional<Kind> pinned;  // of an arena in pinned host memory
  i64 begin, end;
  bool writes;
};
using Touches = std::vector<Touch>;

TESSERA_API Touches touches(const std::vector<Slot>& slots, const Step& step);
// One of them writes what the other touches. Ranges of strided views count with their gaps.
TESSERA_API bool conflict(const Touches& a, const Touches& b);

}  // namespace tessera
