// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/schedule.hpp"

#include <algorithm>

#include "tessera/plan/touch.hpp"

namespace tessera {
namespace {

int lane_for(std::vector<Lane>& lanes, const Lane& wanted) {
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i] == wanted) return static_cast<int>(i);
  lanes.push_back(wanted);
  return static_cast<int>(lanes.size()) - 1;
}

// Of the steps that come before, the latest of each other lane; earlier ones of a lane are implied
// by its order, and so is what an earlier step of this lane has waited for (`known`, by lane).
std::vector<int> waits_of(const Step& step, const std::vector<int>& before,
                          const std::vector<Step>& steps, std::vector<int>& known) {
  std::vector<int> waits;
  for (auto it = before.rbegin(); it != before.rend(); ++it) {
    const int lane = steps[static_cast<std::size_t>(*it)].lane;
    int& latest = known[static_cast<std::size_t>(lane)];
    if (lane == step.lane || *it <= latest) continue;
    latest = *it;
    waits.push_back(*it);
  }
  std::reverse(waits.begin(), waits.end());
  return waits;
}

}  // namespace

std::vector<Lane> schedule(const std::vector<Slot>& slots, std::vector<Step>& steps) {
  std::vector<Lane> lanes;
  for (Step& step : steps) {
    Lane lane{.device = step.device,
              .transfers = step.kind == Step::Kind::transfer,
              .from = {},
              .to = {},
              .stream = step.stream};
    if (lane.transfers) {
      lane.from = slots[static_cast<std::size_t>(step.operands.front().slot)].device;
      lane.to = slots[static_cast<std::size_t>(step.write().slot)].device;
    }
    step.lane = lane_for(lanes, lane);
  }
  if (lanes.size() < 2) return lanes;
  Touched memory;
  std::vector<std::vector<int>> known(lanes.size(), std::vector<int>(lanes.size(), -1));
  for (std::size_t t = 0; t < steps.size(); ++t) {
    Step& step = steps[t];
    const std::vector<int> before =
        memory.before(static_cast<int>(t), step.lane, touches(slots, step));
    step.waits = waits_of(step, before, steps, known[static_cast<std::size_t>(step.lane)]);
    for (int u : step.waits) steps[static_cast<std::size_t>(u)].signals = true;
  }
  return lanes;
}

}  // namespace tessera
