// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/breaker.hpp"

#include <algorithm>

#include "tessera/base/text.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds first_pause{30}, longest_pause{600};

}  // namespace

void Breaker::failed(Device device, const std::string& why, Time now) {
  const auto before = trouble_.find(device);
  const auto pause =
      before == trouble_.end() ? first_pause : std::min(2 * before->second.pause, longest_pause);
  trouble_[device] = {why, pause, now};
}

std::string Breaker::why_closed(Device device, Time now) const {
  const auto found = trouble_.find(device);
  if (found == trouble_.end() || now >= found->second.since + found->second.pause) return "";
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(found->second.since + found->second.pause - now);
  return cat("failed before (", found->second.why, "); tried again in ",
             static_cast<i64>(left.count()), " s");
}

}  // namespace tessera
