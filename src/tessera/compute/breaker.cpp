// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/breaker.hpp"

#include <algorithm>

#include "tessera/base/text.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds first_pause{30}, longest_pause{600};

}  // namespace

const Breaker::Trouble* Breaker::find(Device device) const {
  for (const Trouble& t : trouble_)
    if (t.device == device) return &t;
  return nullptr;
}

void Breaker::worked(Device device) {
  std::erase_if(trouble_, [&](const Trouble& t) { return t.device == device; });
}

void Breaker::failed(Device device, const std::string& why, Time now) {
  const Trouble* before = find(device);
  const auto pause = before ? std::min(2 * before->pause, longest_pause) : first_pause;
  worked(device);
  trouble_.push_back({device, why, pause, now});
}

std::string Breaker::why_closed(Device device, Time now) const {
  const Trouble* known = find(device);
  if (!known || now >= known->since + known->pause) return "";
  const auto left = std::chrono::ceil<std::chrono::seconds>(known->since + known->pause - now);
  return cat("failed before (", known->why, "); tried again in ", static_cast<i64>(left.count()),
             " s");
}

}  // namespace tessera
