// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/pass_figures.hpp"

#include <algorithm>

namespace tessera::streaming {

std::string exact_bytes(i64 bytes) { return cat(bytes, bytes == 1 ? " byte" : " bytes"); }
std::string exact_and_short_bytes(i64 bytes) {
  return cat(exact_bytes(bytes), " (", bytes_text(bytes), ")");
}

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
    const auto s = costs.seconds(device, w);
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
    if (s.wanted.read > 0) text += cat("; reads ", exact_and_short_bytes(s.wanted.read));
    if (s.read > s.wanted.read) text += cat(", and ", s.read - s.wanted.read, " that lie between");
    if (s.wanted.written > 0) text += cat("; writes ", exact_and_short_bytes(s.wanted.written));
    text += "\n";
  }
  for (const std::string& note : notes) text += cat("  ", note, "\n");
  text += cat("  in all: reads ", exact_bytes(wanted().read), ", writes ",
              exact_bytes(wanted().written), " in ", steps, steps == 1 ? " step\n" : " steps\n",
              "  holds ", exact_and_short_bytes(held));
  if (device != cpu) text += cat(" on ", device);
  text += budget > 0 ? cat(" of a budget of ", bytes_text(budget), "\n")
                     : std::string(", no budget given\n");
  if (device != cpu)
    text += cat("  passes through ", exact_and_short_bytes(pinned), " of pinned host memory\n");
  if (beside > 0) text += cat("  holds ", exact_and_short_bytes(beside), " of host memory\n");
  return text;
}

}  // namespace tessera::streaming
