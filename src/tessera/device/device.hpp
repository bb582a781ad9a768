// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which device: a small value, parsed and printed. It says nothing of what the device can do (see
// compute_device.hpp) and owns nothing.
//   Device d = Device::parse("cuda:1");   d.str() == "cuda:1"

#include <compare>
#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera {

enum class Kind : std::uint8_t { cpu, sim, cuda };
inline constexpr int kind_count = 3;

struct TESSERA_API Device {
  Kind kind = Kind::cpu;
  std::int16_t index = 0;

  static Device parse(
      std::string_view text);  // "cpu", "cuda" = "cuda:0"; DeviceError with what is known
  std::string str() const;
  auto operator<=>(const Device&) const = default;
};

inline constexpr Device cpu{};
TESSERA_API std::string_view name(Kind kind);  // "cuda"

}  // namespace tessera
