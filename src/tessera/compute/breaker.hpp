// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices that failed are left alone for a while: half a minute, twice as long after each further
// failure, ten minutes at most. Then they are tried again; success forgets what was. Knows no clock
// of its own, so that tests need not wait.
//   breaker.failed(gpu, why, now);   breaker.why_closed(gpu, now)  // "": it may be used

#include <chrono>
#include <map>
#include <string>

#include "tessera/device/device.hpp"

namespace tessera {

class TESSERA_API Breaker {
 public:
  using Time = std::chrono::steady_clock::time_point;
  void failed(Device device, const std::string& why, Time now);
  void worked(Device device) { trouble_.erase(device); }
  std::string why_closed(Device device, Time now) const;

 private:
  struct Trouble {
    std::string why;
    std::chrono::seconds pause;
    Time since;
  };
  std::map<Device, Trouble> trouble_;
};

}  // namespace tessera
