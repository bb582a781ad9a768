// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of a run: maximal sequences of steps on one lane that only enqueue become one graph each,
// kept per set of input and output addresses (the few most recent). They are captured on a stream
// of their own: a lane may be a stream that other threads use. Inside a Run only.
//   GraphCache g(steps, lanes);   g.select(inputs, outputs, streams);
//   g.run(enqueue, enqueue_on, streams);

#include <list>

#include "tessera/plan/step.hpp"

namespace tessera {

class GraphCache {
 public:
  GraphCache(const std::vector<Step>& steps, const std::vector<Lane>& lanes);
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  bool empty() const { return segments_.empty(); }
  // Finds or makes the entry for these addresses; when there are too many the oldest goes, after
  // its work.
  void select(std::span<const Array> inputs, std::span<const Array> outputs,
              const std::vector<Stream>& lanes);
  // Replays captured segments and captures those that are new; `enqueue(begin, end)` does steps one
  // by one, `enqueue_on(stream, begin, end)` launches those of a segment on that stream.
  template <class Enqueue, class EnqueueOn>
  void run(Enqueue&& enqueue, EnqueueOn&& enqueue_on, const std::vector<Stream>& lanes) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const Segment& s = segments_[i];
      if (at < s.begin) enqueue(at, s.begin);
      if (!entries_.front().graphs[i]) {
        const Stream stream(s.device);
        begin(s, stream);
        try {
          enqueue_on(stream, s.begin, s.end);
        } catch (...) {
          abandon(s, stream);
          throw;
        }
        end(i, stream);
      }
      replay(i, lanes[static_cast<std::size_t>(s.lane)]);
      at = s.end;
    }
    if (at < step_count_) enqueue(at, step_count_);
  }

 private:
  struct Segment {
    std::size_t begin, end;
    int lane;
    Device device;
  };
  struct Entry {
    std::vector<void*> addresses;
    std::vector<void*> graphs;
  };
  void begin(const Segment& s, const Stream& stream) const;
  void abandon(const Segment& s, const Stream& stream) const;
  void end(std::size_t i, const Stream& stream);
  void replay(std::size_t i, const Stream& stream) const;
  void drop(Entry& entry) const;

  std::vector<Segment> segments_;
  std::list<Entry> entries_;  // most recent first
  std::vector<void*> wanted_;
  std::size_t step_count_;
};

}  // namespace tessera
