// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/device.hpp"

#include <array>
#include <charconv>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {
constexpr std::array<std::string_view, kind_count> names{"cpu", "sim", "cuda"};
}  // namespace

std::string_view name(Kind kind) { return names[static_cast<std::size_t>(kind)]; }

Device Device::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  int index = 0;
  bool ok = true;
  if (colon != std::string_view::npos) {
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    const auto [end, ec] = std::from_chars(first, last, index);
    ok = ec == std::errc{} && end == last && first != last && index >= 0 && index < 32767;
  }
  for (std::size_t i = 0; ok && i < names.size(); ++i)
    if (names[i] == kind) return {static_cast<Kind>(i), static_cast<std::int16_t>(index)};
  throw DeviceError(cat("'", text,
                        "' is not a device; write for example cpu, cuda:0 or sim:1 (known kinds: ",
                        join(names), ")"));
}

std::string Device::str() const {
  if (kind == Kind::cpu && index == 0) return "cpu";
  return cat(name(kind), ":", index);
}

}  // namespace tessera
