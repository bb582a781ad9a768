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

// The latest step of each other lane that step t must wait for; earlier ones of that lane are
// implied by its order.
std::vector<int> waits_of(std::size_t t, const std::vector<Step>& steps,
                          const std::vector<Touches>& touched, std::size_t lanes) {
  std::vector<int> waits;
  std::vector<bool> found(lanes, false);
  found[static_cast<std::size_t>(steps[t].lane)] = true;
  std::size_t open = lanes - 1;
  for (std::size_t u = t; u-- > 0 && open > 0;) {
    const std::size_t lane = static_cast<std::size_t>(steps[u].lane);
    if (found[lane] || !conflict(touched[u], touched[t])) continue;
    found[lane] = true;
    --open;
    waits.push_back(static_cast<int>(u));
  }
  std::sort(waits.begin(), waits.end());
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
  std::vector<Touches> touched;
  touched.reserve(steps.size());
  for (const Step& step : steps) touched.push_back(touches(slots, step));
  for (std::size_t t = 0; t < steps.size(); ++t) {
    steps[t].waits = waits_of(t, steps, touched, lanes.size());
    for (int u : steps[t].waits) steps[static_cast<std::size_t>(u)].signals = true;
  }
  return lanes;
}

}  // namespace tessera
