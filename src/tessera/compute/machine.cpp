// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/machine.hpp"

#include <algorithm>

namespace tessera {

double Machine::seconds(Device device, const Work& work) const {
  constexpr double flops_per_byte = 10;
  const Link& own = links.link(device, device);
  const double bytes = std::max(static_cast<double>(work.bytes), work.flops / flops_per_byte);
  return static_cast<double>(work.steps) * own.latency_seconds + bytes / own.bytes_per_second;
}

}  // namespace tessera
