// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices that failed are left alone for a while: half a minute, twice as long after each further
// failure, ten minutes at most. Then they are tried again; success forgets what was. Knows no clock
// of its own, so that tests need not wait.
//   breaker.failed(gpu, why, now);   breaker.why_closed(gpu, now)  // "": it may be used

#include <chrono>
#include <string>
#include <vector>

#include "tessera/device/device.hpp"

namespace tessera {

class TESSERA_API Breaker {
 public:
  using Time = std::chrono::steady_clock::time_point;
  void failed(Device device, const std::string& why, Time now);
  void worked(Device device);
  std::string why_closed(Device device, Time now) const;

 private:
  struct Trouble {
    Device device;
    std::string why;
    std::chrono::seconds pause;
    Time since;
  };
  const Trouble* find(Device device) const;

  std::vector<Trouble> trouble_;
};

}  // namespace tessera
