// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/pass_figures.hpp"

#include <algorithm>

namespace tessera::streaming {
namespace {

std::string bytes_and_text(i64 bytes) { return cat(bytes, " bytes (", bytes_text(bytes), ")"); }

}  // namespace

Moved PassFigures::wanted() const {
  Moved sum;
  for (const StoreFigures& s : stores) {
    sum.read += s.wanted.read;
    sum.written += s.wanted.written;
  }
  return sum;
}

Moved PassFigures::disk() const {
  Moved sum;
  for (const StoreFigures& s : stores)
    if (s.on_disk) {
      sum.read += s.read;
      sum.written += s.wanted.written;
    }
  return sum;
}

Moved PassFigures::host() const {
  Moved sum;
  for (const StoreFigures& s : stores)
    if (!s.on_disk) {
      sum.read += s.wanted.read;
      sum.written += s.wanted.written;
    }
  return sum;
}

std::optional<double> PassFigures::seconds(const CostModel& costs,
                                           const std::optional<DiskRate>& rate) const {
  double computing = 0;
  for (const Workload& w : work) {
    const auto s = costs.seconds(cpu, w);
    if (!s) return std::nullopt;
    computing += *s;
  }
  const Moved moved = disk();
  if (moved.read + moved.written == 0) return computing;
  if (!rate) return std::nullopt;
  const double moving = rate->seconds(moved.read, moved.written, transfers);
  const double alone = steps > 0 ? std::min(moving, computing) / static_cast<double>(steps) : 0;
  return std::max(moving, computing) + alone;
}

std::string PassFigures::explain() const {
  std::string text = title + "\n";
  for (const StoreFigures& s : stores) {
    text += cat("  ", s.role, ": ", s.description);
    if (s.wanted.read > 0) text += cat("; reads ", bytes_and_text(s.wanted.read));
    if (s.read > s.wanted.read) text += cat(", and ", s.read - s.wanted.read, " that lie between");
    if (s.wanted.written > 0) text += cat("; writes ", bytes_and_text(s.wanted.written));
    text += "\n";
  }
  for (const std::string& note : notes) text += cat("  ", note, "\n");
  text += cat("  in all: reads ", wanted().read, " bytes, writes ", wanted().written, " bytes in ",
              steps, " steps\n", "  holds ", bytes_and_text(held));
  text += budget > 0 ? cat(" of a budget of ", bytes_text(budget), "\n")
                     : std::string(", no budget given\n");
  return text;
}

}  // namespace tessera::streaming
