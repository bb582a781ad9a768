// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/forecast.hpp"

#include <algorithm>

namespace tessera {

Forecast forecast(const Plan& plan, const Machine& machine) {
  Forecast f;
  f.busy.assign(plan.lanes().size(), 0);
  std::vector<double> free_at(plan.lanes().size(), 0), ended;
  ended.reserve(plan.steps().size());
  for (const Step& s : plan.steps()) {
    double seconds = 0;
    if (s.kind == Step::Kind::transfer) {
      const Device from = plan.slots()[static_cast<std::size_t>(s.operands.front().slot)].device,
                   to = plan.slots()[static_cast<std::size_t>(s.write().slot)].device;
      seconds = machine.links.seconds(from, to, s.bytes);
      auto it = std::find_if(f.transfers.begin(), f.transfers.end(),
                             [&](const LinkBytes& l) { return l.from == from && l.to == to; });
      if (it == f.transfers.end()) it = f.transfers.insert(it, {from, to, 0});
      it->bytes += s.bytes;
    } else {
      seconds = machine.seconds(s.device, {.flops = s.prepared.flops, .bytes = s.bytes});
    }
    const std::size_t lane = static_cast<std::size_t>(s.lane);
    double start = free_at[lane];
    for (int u : s.waits) start = std::max(start, ended[static_cast<std::size_t>(u)]);
    ended.push_back(start + seconds);
    free_at[lane] = start + seconds;
    f.busy[lane] += seconds;
    f.seconds = std::max(f.seconds, ended.back());
  }
  return f;
}

}  // namespace tessera
