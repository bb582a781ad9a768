// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/schedule.hpp"

#include <algorithm>

#include "tessera/plan/liveness.hpp"

namespace tessera {
namespace {

int lane_for(std::vector<Lane>& lanes, const Lane& wanted) {
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].device == wanted.device && lanes[i].transfers == wanted.transfers &&
        lanes[i].from == wanted.from && lanes[i].to == wanted.to)
      return static_cast<int>(i);
  lanes.push_back(wanted);
  return static_cast<int>(lanes.size()) - 1;
}

// A range of memory that a step touches: bytes of an arena, or a whole slot elsewhere.
struct Touch {
  int root;
  bool arena;
  Device device;
  i64 begin, end;
  bool writes;
};

std::vector<Touch> touches(const std::vector<Slot>& slots, const Step& step) {
  std::vector<Touch> all;
  auto add = [&](int slot, bool writes) {
    const int root = root_of(slots, slot);
    const Slot& s = slots[static_cast<std::size_t>(root)];
    all.push_back(
        {root, s.kind == SlotKind::temporary, s.device, s.offset, s.offset + s.bytes, writes});
  };
  for (std::size_t i = 0; i + 1 < step.operands.size(); ++i) add(step.operands[i].slot, false);
  add(step.write().slot, true);
  if (step.workspace >= 0) add(step.workspace, true);
  return all;
}

bool conflict(const Touch& a, const Touch& b) {
  if (!a.writes && !b.writes) return false;
  if (a.arena && b.arena) return a.device == b.device && a.begin < b.end && b.begin < a.end;
  return a.root == b.root;
}

}  // namespace

std::vector<Lane> schedule(const std::vector<Slot>& slots, std::vector<Step>& steps) {
  std::vector<Lane> lanes;
  for (Step& step : steps) {
    Lane lane{.device = step.device,
              .transfers = step.kind == Step::Kind::transfer,
              .from = {},
              .to = {}};
    if (lane.transfers) {
      lane.from = slots[static_cast<std::size_t>(step.operands.front().slot)].device;
      lane.to = slots[static_cast<std::size_t>(step.write().slot)].device;
    }
    step.lane = lane_for(lanes, lane);
  }
  if (lanes.size() < 2) return lanes;
  std::vector<std::vector<Touch>> touched;
  for (const Step& step : steps) touched.push_back(touches(slots, step));
  for (std::size_t t = 0; t < steps.size(); ++t) {
    // The latest conflicting step of each other lane; earlier ones of that lane are implied by its
    // order.
    std::vector<int> latest(lanes.size(), -1);
    for (std::size_t u = 0; u < t; ++u) {
      if (steps[u].lane == steps[t].lane) continue;
      for (const Touch& a : touched[u])
        for (const Touch& b : touched[t])
          if (conflict(a, b)) latest[static_cast<std::size_t>(steps[u].lane)] = static_cast<int>(u);
    }
    for (int u : latest)
      if (u >= 0) {
        steps[t].waits.push_back(u);
        steps[static_cast<std::size_t>(u)].signals = true;
      }
  }
  return lanes;
}

}  // namespace tessera
