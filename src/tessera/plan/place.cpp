// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

double forecast(const Work& w, const Candidate& c, i64& moved) {
  double seconds =
      std::max(w.flops / c.flops_per_second, static_cast<double>(w.bytes) / c.bytes_per_second) +
      static_cast<double>(w.steps) * c.seconds_per_step;
  moved = 0;
  if (c.device != w.home) {
    moved = w.input_bytes + w.output_bytes;
    seconds += static_cast<double>(w.input_bytes) / c.to_bytes_per_second +
               static_cast<double>(w.output_bytes) / c.from_bytes_per_second +
               2 * c.transfer_latency;
  }
  return seconds;
}

}  // namespace

Placement place(const Work& work, const std::vector<Candidate>& candidates) {
  require<PlanError>(!candidates.empty(), "place: no device to choose from");
  Placement best;
  bool found = false;
  std::vector<std::string> reasons;
  for (const Candidate& c : candidates) {
    const i64 held =
        work.workspace + (c.device == work.home ? 0 : work.input_bytes + work.output_bytes);
    if (c.free_bytes > 0 && held > c.free_bytes) {
      reasons.push_back(
          cat(c.device, ": needs ", bytes_text(held), ", has ", bytes_text(c.free_bytes)));
      continue;
    }
    i64 moved = 0;
    const double seconds = forecast(work, c, moved);
    reasons.push_back(fmt::format("{}: {:.3g} ms forecast, {} moved", c.device.str(), seconds * 1e3,
                                  bytes_text(moved)));
    if (!found || seconds < best.seconds) {
      best = {c.device, seconds, moved, {}};
      found = true;
    }
  }
  require<OutOfMemory>(found, "place: the work fits on no device: ", join(reasons, "; "));
  best.reasons = std::move(reasons);
  return best;
}

}  // namespace tessera
