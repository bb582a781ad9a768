// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/touch.hpp"

#include "tessera/plan/liveness.hpp"

namespace tessera {
namespace {

bool overlap(const Touch& a, const Touch& b) {
  if (!a.writes && !b.writes) return false;
  const bool together = a.arena == b.arena &&
                        (a.arena ? a.device == b.device && a.pinned == b.pinned : a.root == b.root);
  if (!together) return false;
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

Touches touches(const std::vector<Slot>& slots, const Step& step) {
  Touches all;
  auto add = [&](int slot, i64 begin, i64 end, bool writes) {
    const int root = root_of(slots, slot);
    const Slot& s = slots[static_cast<std::size_t>(root)];
    const bool arena = s.kind == SlotKind::temporary && s.offset >= 0;
    const i64 base = arena ? s.offset : 0;
    all.push_back({root, arena, s.device, s.pinned, base + begin, base + end, writes});
  };
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const Access& a = step.operands[i];
    add(a.slot, a.begin, a.end, i + 1 == step.operands.size());
  }
  if (step.workspace >= 0)
    add(step.workspace, 0, slots[static_cast<std::size_t>(step.workspace)].bytes, true);
  return all;
}

bool conflict(const Touches& a, const Touches& b) {
  for (const Touch& s : a)
    for (const Touch& t : b)
      if (overlap(s, t)) return true;
  return false;
}

}  // namespace tessera
