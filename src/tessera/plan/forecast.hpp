// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plan will take before it runs: seconds from a walk through its lanes with the rates of a
// machine, bytes from the plan itself. Times are estimates; bytes are exact. No device is asked
// anything, so invented machines test it.
//   Forecast f = forecast(plan, Machine::measured());   f.seconds

#include <string>
#include <tuple>
#include <vector>

#include "tessera/compute/machine.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {

struct LinkBytes {
  Device from, to;
  i64 bytes = 0;
  auto state() const { return std::tuple(from, to, bytes); }
  static LinkBytes from_state(Device from, Device to, i64 bytes) { return {from, to, bytes}; }
};

struct Forecast {
  double seconds = 0;
  std::vector<double> busy;          // seconds of each lane of the plan
  std::vector<LinkBytes> transfers;  // one entry per link that is used
};

TESSERA_API Forecast forecast(const Plan& plan, const Machine& machine);

}  // namespace tessera
