// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of a run: maximal sequences of steps on one lane that only enqueue become one graph each,
// kept per set of input and output addresses (the few most recent). They are captured on a stream
// of their own: a lane may be a stream that other threads use. Either at once, or when addresses
// have come back often enough: those that change from run to run never become graphs. Inside a Run
// only.
//   GraphCache g(steps, lanes);
//   if (g.select(inputs, outputs, streams, after)) g.run(enqueue, enqueue_on, streams);

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
  bool holds_graphs() const { return !entries_.empty() && !given_up_; }
  // Finds or makes the entry for these addresses; when there are too many the oldest goes, after
  // its work. Addresses that were selected fewer than `after` times before have none: false, and
  // the steps are to be done one by one. Each entry that goes makes `after` count four times as
  // much: what is captured again and again is better not captured.
  bool select(std::span<const Array> inputs, std::span<const Array> outputs,
              const std::vector<Stream>& lanes, i64 after);
  // Replays captured segments and captures those that are new; `enqueue(begin, end)` does steps one
  // by one, `enqueue_on(stream, begin, end)` launches those of a segment on that stream. Where
  // nobody asked for graphs (`after` above), a segment that cannot be captured is enqueued, and
  // from then on all are.
  template <class Enqueue, class EnqueueOn>
  void run(Enqueue&& enqueue, EnqueueOn&& enqueue_on, const std::vector<Stream>& lanes) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < segments_.size() && !given_up_; ++i) {
      const Segment& s = segments_[i];
      if (at < s.begin) enqueue(at, s.begin);
      at = s.begin;
      if (!entries_.front().graphs[i] && !capture(i, enqueue_on)) break;
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
  struct Seen {
    std::vector<void*> addresses;
    i64 times;
  };
  // False: it cannot be done, and nobody had asked for it.
  template <class EnqueueOn>
  bool capture(std::size_t i, EnqueueOn&& enqueue_on) {
    const Segment& s = segments_[i];
    try {
      const Stream stream(s.device);
      begin(s, stream);
      try {
        enqueue_on(stream, s.begin, s.end);
      } catch (...) {
        abandon(s, stream);
        throw;
      }
      end(i, stream);
    } catch (const Error&) {
      if (!unasked_) throw;
      given_up_ = true;
      return false;
    }
    return true;
  }
  bool seen_often(i64 after);  // wanted_, counting this time
  void begin(const Segment& s, const Stream& stream) const;
  void abandon(const Segment& s, const Stream& stream) const;
  void end(std::size_t i, const Stream& stream);
  void replay(std::size_t i, const Stream& stream) const;
  void drop(Entry& entry) const;

  std::vector<Segment> segments_;
  std::list<Entry> entries_;  // most recent first
  std::list<Seen> seen_;      // addresses without graphs, most recent first
  std::vector<void*> wanted_;
  i64 patience_ = 1;  // by which `after` is multiplied
  bool unasked_ = false, given_up_ = false;
  std::size_t step_count_;
};

}  // namespace tessera
