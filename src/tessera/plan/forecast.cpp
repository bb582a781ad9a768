// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/forecast.hpp"

#include <algorithm>

namespace tessera {

DeviceRates Machine::rates(Device device) const {
  const Link& own = links.link(device, device);
  return {10 * own.bytes_per_second, own.bytes_per_second, own.latency_seconds};
}

double Machine::transfer_seconds(Device from, Device to, i64 bytes) const {
  const Link& link = links.link(from, to);
  return link.latency_seconds + static_cast<double>(bytes) / link.bytes_per_second;
}

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
      seconds = machine.transfer_seconds(from, to, s.bytes);
      auto it = std::find_if(f.transfers.begin(), f.transfers.end(),
                             [&](const LinkBytes& l) { return l.from == from && l.to == to; });
      if (it == f.transfers.end()) it = f.transfers.insert(it, {from, to, 0});
      it->bytes += s.bytes;
    } else {
      const DeviceRates r = machine.rates(s.device);
      seconds = r.seconds_per_step + std::max(s.prepared.flops / r.flops_per_second,
                                              static_cast<double>(s.bytes) / r.bytes_per_second);
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
