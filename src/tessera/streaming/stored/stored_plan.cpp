// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/compute/calibrate.hpp"
#include "tessera/store/tiers/backing_file.hpp"
#include "tessera/streaming/plan/planning.hpp"

namespace tessera::streaming {

StoredPlan StoredPlan::of(const std::function<void()>& call) {
  Planning planning;
  call();
  StoredPlan plan;
  plan.passes_ = planning.passes();
  plan.disk_peak_ = planning.disk_peak();
  return plan;
}

i64 StoredPlan::steps() const {
  i64 sum = 0;
  for (const PassFigures& p : passes_) sum += p.steps;
  return sum;
}

Moved StoredPlan::disk() const {
  Moved sum;
  for (const PassFigures& p : passes_) {
    sum.read += p.disk().read;
    sum.written += p.disk().written;
  }
  return sum;
}

Moved StoredPlan::host() const {
  Moved sum;
  for (const PassFigures& p : passes_) {
    sum.read += p.host().read;
    sum.written += p.host().written;
  }
  return sum;
}

i64 StoredPlan::host_peak() const {
  i64 most = 0;
  for (const PassFigures& p : passes_) most = std::max(most, p.held_by_host());
  return most;
}

i64 StoredPlan::device_peak() const {
  i64 most = 0;
  for (const PassFigures& p : passes_)
    if (p.device != cpu) most = std::max(most, p.held);
  return most;
}

std::optional<double> StoredPlan::seconds() const {
  const Moved moved = disk();
  std::optional<DiskRate> rate;
  if (moved.read + moved.written > 0)
    rate = cached_disk_rate(cost_cache_path(), store::backing_dir());
  double sum = 0;
  for (const PassFigures& p : passes_) {
    const auto s = p.seconds(host_costs(), rate);
    if (!s) return std::nullopt;
    sum += *s;
  }
  return sum;
}

std::string StoredPlan::explain() const {
  std::string text;
  for (const PassFigures& p : passes_) text += p.explain();
  if (passes_.empty()) return "nothing is read or written\n";
  const Moved on_disk = disk(), in_host = host();
  text += cat("disk: reads ", exact_bytes(on_disk.read), ", writes ", exact_bytes(on_disk.written),
              "; new files of ", exact_and_short_bytes(disk_peak_), "\n");
  text += cat("host: reads ", exact_bytes(in_host.read), ", writes ", exact_bytes(in_host.written),
              "; holds ", exact_and_short_bytes(host_peak()), "\n");
  if (device_peak() > 0) text += cat("device: holds ", exact_and_short_bytes(device_peak()), "\n");
  text += cat(passes_.size(), passes_.size() == 1 ? " pass of " : " passes of ", steps(),
              steps() == 1 ? " step" : " steps");
  if (const auto s = seconds()) text += fmt::format(", about {:.3g} s", *s);
  return text + "\n";
}

}  // namespace tessera::streaming
