// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/rank_device.hpp"

#include <charconv>

#include "tessera/base/error.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {

RankDevice RankDevice::parse(std::string_view text) {
  constexpr std::string_view word = "rank";
  if (!text.starts_with(word)) return Device::parse(text);
  const std::size_t slash = text.find('/');
  int rank = -1;
  const char *first = text.data() + word.size(),
             *last = text.data() + (slash == std::string_view::npos ? text.size() : slash);
  const auto [end, ec] = std::from_chars(first, last, rank);
  require<DeviceError>(
      slash != std::string_view::npos && ec == std::errc{} && end == last && rank >= 0, "'", text,
      "' is not a place; write a device (cuda:0) or a rank and a ", "device (rank1/cuda:0)");
  return {rank, Device::parse(text.substr(slash + 1))};
}

std::string RankDevice::str() const {
  return rank == 0 ? device.str() : cat("rank", rank, "/", device);
}

Device RankDevice::local(std::string_view who) const {
  require<CommError>(rank == 0, who, ": '", str(), "' is on rank ", rank,
                     ", and this operator is of one process; dist::create_batched_linop makes one "
                     "over ranks");
  (void)compute_device(device);
  return device;
}

}  // namespace tessera
