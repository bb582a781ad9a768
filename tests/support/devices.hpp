// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sim devices that tests name.
//   const Array there = x.to(sim1);   Stream::home(sim_at(3))

#include "tessera/device/device.hpp"

namespace tessera {

inline constexpr Device sim0{Kind::sim, 0}, sim1{Kind::sim, 1};

inline Device sim_at(int index) { return {Kind::sim, static_cast<std::int16_t>(index)}; }

}  // namespace tessera
