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
// by its order.
std::vector<int> waits_of(const Step& step, const std::vector<int>& before,
                          const std::vector<Step>& steps) {
  std::vector<int> waits;
  for (auto it = before.rbegin(); it != before.rend(); ++it) {
    auto lane = [&](int u) { return steps[static_cast<std::size_t>(u)].lane; };
    const bool known =
        lane(*it) == step.lane ||
        std::any_of(waits.begin(), waits.end(), [&](int u) { return lane(u) == lane(*it); });
    if (!known) waits.push_back(*it);
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
  for (std::size_t t = 0; t < steps.size(); ++t) {
    Step& step = steps[t];
    step.waits =
        waits_of(step, memory.before(static_cast<int>(t), step.lane, touches(slots, step)), steps);
    for (int u : step.waits) steps[static_cast<std::size_t>(u)].signals = true;
  }
  return lanes;
}

}  // namespace tessera
