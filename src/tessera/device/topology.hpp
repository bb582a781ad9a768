// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the machine can move: bandwidth and latency between each pair of devices, and who reaches
// whom directly. Measured once (well under a second), kept in a file of the user's cache folder
// keyed by the machine, and read by the planner and by `tessera info`.
//   topology().link(cpu, Device::parse("cuda:0")).bytes_per_second

#include <string>
#include <vector>

#include "tessera/device/device.hpp"

namespace tessera {

struct Link {
  Device from, to;
  double bytes_per_second = 0;  // large contiguous blocks, pinned where it matters
  double latency_seconds = 0;   // of an empty transfer
  bool direct = true;           // false: staged through the host
};

struct TESSERA_API Topology {
  std::vector<Link> links;  // every ordered pair of devices, and each device with itself
  const Link& link(Device from, Device to) const;  // DeviceError for a device that is not there
  double seconds(Device from, Device to, i64 bytes) const;  // of a transfer
  std::string str() const;                                  // a table
};

// Measured on the first call of a process that finds no cached measurement of this machine.
TESSERA_API const Topology& topology();
TESSERA_API Topology measure_topology();
// The measurement of this machine in the file at `path`, else a new one, which is then written
// there. A file that is missing, damaged or of other devices is replaced; one that cannot be
// written is no error.
TESSERA_API Topology cached_topology(const std::string& path);
// $XDG_CACHE_HOME/tessera/<file>, or the same under ~/.cache; "" where there is neither.
TESSERA_API std::string cache_path(std::string_view file);
// What measurements are kept under: the host, its threads and its devices.
TESSERA_API std::string machine_key();

}  // namespace tessera
