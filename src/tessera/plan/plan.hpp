// SPDX-License-Identifier: Apache-2.0
#pragma once
// A recorded program, ready to run: steps with their lanes, temporaries with their offsets. A Plan
// is immutable and shared between threads; a Run owns the arena, streams and graphs and serves one
// thread at a time. A run allocates nothing and synchronises nothing, except where its output is
// host memory that another device fills.
//   Plan p = A.plan({.shape = {64, 64}});   Run run = p.instance();   run({x}, {y}); run.capture();

#include <memory>
#include <span>
#include <string>

#include "tessera/plan/liveness.hpp"
#include "tessera/plan/recorder.hpp"
#include "tessera/plan/schedule.hpp"

namespace tessera {

class Run;

enum class ExplainFormat : std::uint8_t { text, json, dot, html };

class TESSERA_API Plan {
 public:
  Plan() = default;
  explicit Plan(Recorder recorder, std::string name = "plan");
  explicit operator bool() const { return impl_ != nullptr; }

  // Parts of the plan: references that live as long as it does. Of a plan that is about to end, as
  // in `for (const Step& s : A.plan(o).steps())`, copies.
  const std::string& name() const&;
  const std::vector<Slot>& slots() const&;
  const std::vector<Step>& steps() const&;
  const std::vector<Lane>& lanes() const&;
  const std::vector<std::string>& notes() const&;
  // The operators as they recorded, each before those inside it; steps and slots name their node.
  const std::vector<ScopeNode>& tree() const&;
  // The events that a run records when it starts, on the stream that its first input is ready on.
  const std::vector<RepeatedEvent>& starts() const&;
  // Exact bytes of the arena of each device, and of one.
  const ArenaSizes& workspace() const&;
  std::string name() const&& { return name(); }
  std::vector<Slot> slots() const&& { return slots(); }
  std::vector<Step> steps() const&& { return steps(); }
  std::vector<Lane> lanes() const&& { return lanes(); }
  std::vector<std::string> notes() const&& { return notes(); }
  std::vector<ScopeNode> tree() const&& { return tree(); }
  std::vector<RepeatedEvent> starts() const&& { return starts(); }
  ArenaSizes workspace() const&& { return workspace(); }
  i64 workspace(Device device) const;
  i64 pinned_workspace() const;  // of page-locked host memory, through which staged transfers go
  // Without in-place reuse and sharing of the arena: what the same steps would have taken.
  i64 sum_of_temporaries() const;
  i64 transferred_bytes() const;

  Plan with_notes(const std::vector<std::string>& more) const;
  std::string explain(ExplainFormat format = ExplainFormat::text) const;
  // The page of format html, with the times of the last run of this plan that a TraceFile holds.
  std::string explain_html(const std::string& trace) const;
  std::string repr_html() const;  // in short, for notebooks
  // A runnable copy: allocates the arenas (OutOfMemory names the plan), makes streams. `stream`
  // becomes the compute lane of its device; the home stream of the output's device when none is
  // given.
  Run instance() const;
  Run instance(const Stream& stream) const;

  struct Impl;  // plan.cpp

 private:
  friend class Run;
  std::shared_ptr<const Impl> impl_;
};

class TESSERA_API Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();
  // Arrays in the order in which inputs and outputs were recorded; shape, strides, dtype and device
  // as recorded (ShapeError, DTypeError, DeviceError otherwise). Outputs must not share memory with
  // inputs.
  void operator()(std::span<const Array> inputs, std::span<const Array> outputs);
  void operator()(const Array& input, const Array& output) {
    (*this)(std::span(&input, 1), std::span(&output, 1));
  }
  // From the next run on, sequences of steps that only enqueue become graphs, kept per set of
  // addresses. No effect on devices that run inline.
  void capture();
  // The same for sets of addresses that have come back config().graph_after times: for runs that
  // somebody repeats without saying so. Addresses that change from run to run are left alone.
  void capture_when_repeated();
  bool captured() const;
  void sync();  // waits for everything enqueued; rethrows what failed
  const Stream& stream() const;

 private:
  friend class Plan;
  struct Impl;
  explicit Run(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
