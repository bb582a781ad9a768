// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/capture.hpp"

#include <algorithm>

#include "tessera/base/trace.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {
constexpr std::size_t kept_entries = 8, kept_seen = 8;
constexpr std::size_t shortest_segment = 2;  // one launch gains nothing from a graph
}  // namespace

GraphCache::GraphCache(const std::vector<Step>& steps, const std::vector<Lane>& lanes)
    : step_count_(steps.size()) {
  std::size_t begin = 0;
  auto capturable = [&](const Step& s) {
    return s.kind == Step::Kind::launch && s.prepared.capturable &&
           compute_device(s.device.kind).capturable();
  };
  while (begin < steps.size()) {
    std::size_t end = begin;
    // A wait may open a segment's neighbour but not stand inside it; a signal must be its last
    // step.
    while (end < steps.size() && capturable(steps[end]) && steps[end].lane == steps[begin].lane &&
           steps[end].waits.empty() && !steps[end].signals && steps[end].listeners.empty())
      ++end;
    if (end - begin >= shortest_segment)
      segments_.push_back({begin, end, steps[begin].lane,
                           lanes[static_cast<std::size_t>(steps[begin].lane)].device});
    begin = std::max(end, begin + 1);
  }
}

GraphCache::~GraphCache() {
  for (Entry& e : entries_) drop(e);
}

void GraphCache::drop(Entry& entry) const {
  for (std::size_t i = 0; i < entry.graphs.size(); ++i)
    if (entry.graphs[i])
      compute_device(segments_[i].device.kind)
          .drop_graph(segments_[i].device.index, entry.graphs[i]);
}

bool GraphCache::seen_often(i64 after) {
  const auto it = std::find_if(seen_.begin(), seen_.end(),
                               [&](const Seen& s) { return s.addresses == wanted_; });
  if (it == seen_.end()) {
    if (seen_.size() == kept_seen) {  // the oldest place is taken again: no allocation
      seen_.splice(seen_.begin(), seen_, std::prev(seen_.end()));
      seen_.front().addresses = wanted_;
      seen_.front().times = 1;
    } else {
      seen_.push_front({wanted_, 1});
    }
    return false;
  }
  if (it->times++ < after) {
    seen_.splice(seen_.begin(), seen_, it);
    return false;
  }
  seen_.erase(it);
  return true;
}

bool GraphCache::select(std::span<const Array> inputs, std::span<const Array> outputs,
                        const std::vector<Stream>& lanes, i64 after) {
  unasked_ = after > 0;
  given_up_ = given_up_ && unasked_;  // who asks now is told if it fails again
  if (given_up_) return false;
  wanted_.clear();
  for (const Array& a : inputs) wanted_.push_back(a.data());
  for (const Array& a : outputs) wanted_.push_back(a.data());
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& e) { return e.addresses == wanted_; });
  if (it != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, it);
    return true;
  }
  if (after > 0 && !seen_often(after * patience_)) return false;
  if (entries_.size() == kept_entries) {
    for (const Stream& s : lanes) s.sync();
    drop(entries_.back());
    entries_.pop_back();
    patience_ = std::min<i64>(4 * patience_, 1 << 20);
  }
  entries_.push_front({wanted_, std::vector<void*>(segments_.size(), nullptr)});
  return true;
}

void GraphCache::begin(const Segment& s, const Stream& stream) const {
  compute_device(s.device.kind).begin_capture(s.device.index, stream.native());
}

void GraphCache::abandon(const Segment& s, const Stream& stream) const {
  ComputeDevice& device = compute_device(s.device.kind);
  try {
    if (void* graph = device.end_capture(s.device.index, stream.native()))
      device.drop_graph(s.device.index, graph);
  } catch (const Error&) {  // the first failure is the one to report
  }
}

void GraphCache::end(std::size_t i, const Stream& stream) {
  entries_.front().graphs[i] = compute_device(segments_[i].device.kind)
                                   .end_capture(segments_[i].device.index, stream.native());
}

void GraphCache::replay(std::size_t i, const Stream& stream) const {
  const Segment& s = segments_[i];
  compute_device(s.device.kind)
      .launch_graph(s.device.index, stream.native(), entries_.front().graphs[i]);
  count(Counter::graph_launches);
}

}  // namespace tessera
