// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a tile lives: a device of this process, or of another rank. A value, parsed and printed; it
// knows nothing of messages.
//   RankDevice p = RankDevice::parse("rank1/cuda:0");   p.rank == 1;   RankDevice(cpu).str() == "cpu"

#include <string>
#include <string_view>
#include <tuple>

#include "tessera/device/device.hpp"

namespace tessera {

struct TESSERA_API RankDevice {
  int rank = 0;
  Device device = cpu;

  RankDevice() = default;
  RankDevice(Device d) : device(d) {}
  RankDevice(int r, Device d) : rank(r), device(d) {}
  RankDevice(const char* text) : RankDevice(parse(text)) {}
  // "cuda:0" or "rank2/cuda:0"; DeviceError with what is expected.
  static RankDevice parse(std::string_view text);
  std::string str() const;  // without the rank where it is 0
  std::tuple<std::string> state() const { return {str()}; }
  static RankDevice from_state(const std::string& text) { return parse(text); }
  // The device, when it is of this process and can be used here; CommError for another rank,
  // NotAvailable or DeviceError by name for a device that is not there.
  Device local(std::string_view who) const;
  friend bool operator==(const RankDevice&, const RankDevice&) = default;
};

}  // namespace tessera
