// SPDX-License-Identifier: Apache-2.0
#pragma once
// How quick the disk of a folder is: measured once, by files that are written, read past the page
// cache and removed, and kept in the file of the costs beside those of the devices.
//   auto rate = cached_disk_rate(cost_cache_path(), "/scratch");   rate->seconds(read, written, 100)

#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/api.hpp"
#include "tessera/compute/cost_model.hpp"

namespace tessera {

struct TESSERA_API DiskRate {
  double read = 0, written = 0;  // bytes per second
  double latency = 0;            // seconds of a transfer by itself
  // Several transfers are under way at a time.
  double seconds(i64 read_bytes, i64 written_bytes, i64 transfers) const;
};

// Nothing where the folder cannot be written to, or has no room.
TESSERA_API std::optional<DiskRate> measured_disk_rate(const std::string& folder);
// That of a folder in the file at `path`, or measured and written there. "": measures.
TESSERA_API std::optional<DiskRate> cached_disk_rate(const std::string& path,
                                                     const std::string& folder);
// Lines about disks among those of a file of costs, which speak of nothing else.
TESSERA_API bool is_line_of_disk(std::string_view line);

// What operations cost on the host: read, or measured, at the first call in a process.
TESSERA_API const CostModel& host_costs();

}  // namespace tessera
