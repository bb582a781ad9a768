// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/base/report/watch.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/device/transfer_streams.hpp"
#include "tessera/plan/capture.hpp"
#include "tessera/plan/plan_impl.hpp"

namespace tessera {

// Everything that can be known before the arrays are: pointers into arenas and constants are
// written once; a run only patches the operands that are inputs or outputs, then walks the steps.
struct Run::Impl {
  struct Ready {
    const Step* step;
    Launch launch;
    Staging* staging = nullptr;  // of a transfer whose end on the host may not be pinned
  };
  struct Patch {
    int step, operand, argument;  // argument: position among inputs, then outputs
    i64 byte_offset;
  };

  std::shared_ptr<const Plan::Impl> plan;
  std::vector<Stream> lanes;
  Stream main;
  std::vector<Storage> arenas;
  std::vector<std::pair<Kind, Storage>> pinned;
  std::vector<std::shared_ptr<Staging>> rings;  // held, so that a run asks for no memory
  std::vector<Ready> ready;
  std::vector<Patch> patches;
  std::vector<RepeatedEvent> events;  // one per step that signals; indexed by event_of
  std::vector<int> event_of;
  std::vector<RepeatedEvent> fences;  // start, then the end of each lane
  // Home streams of arguments on other devices than that of `main`, with fences of their own: what
  // was asked of the arrays before the run comes before it, and what is asked after it after it.
  std::vector<std::pair<Stream, RepeatedEvent>> homes;
  std::vector<int> host_lanes;  // lanes whose work reads or writes host memory of the caller
  std::span<const Array> inputs, outputs;  // of the run in progress, for steps that are calls
  bool inline_run = false;  // one lane on a device that finishes before launch() returns
  std::unique_ptr<GraphCache> graphs;
  bool unasked = false;  // graphs only of what is run again and again

  explicit Impl(const Stream& stream) : main(stream) {}

  const Slot& slot(int i) const { return plan->slots[static_cast<std::size_t>(i)]; }
  void allocate();
  void take_rings();
  void make_lanes();
  Stream stream_for(const Lane& lane) const;
  void join(std::size_t lane) const;
  bool reaches(std::size_t lane, const Stream& home) const;
  void renew_lanes();
  void settle() const noexcept;
  void wait_for_lane(std::size_t lane) const;
  Storage arena_of(const Slot& s) const;
  int host_end(const Step& step, const std::vector<bool>& written) const;
  std::vector<bool> written_slots() const;
  void bind_fixed();
  void check(std::span<const Array> arrays, const std::vector<int>& slots, const char* what) const;
  void patch(std::span<const Array> inputs, std::span<const Array> outputs);
  Storage owner_of(int slot) const;
  void call_step(std::size_t t);
  void enqueue_step(std::size_t t);
  void enqueue(std::size_t begin, std::size_t end);
  void run_inline();
  void announce();
  void make_graphs();
  bool wants_graphs() const;
  void run_lanes();
};

void Run::Impl::allocate() {
  for (const auto& [device, bytes] : plan->workspace) {
    try {
      arenas.push_back(Storage::allocate(device, bytes));
    } catch (const OutOfMemory& e) {
      throw OutOfMemory(cat("plan '", plan->name, "' needs ", bytes_text(bytes),
                            " of temporaries on ", device, ": ", e.what()));
    }
  }
  for (const auto& [kind, bytes] : plan->pinned) {
    try {
      pinned.emplace_back(kind, Storage::pinned(kind, bytes));
    } catch (const OutOfMemory& e) {
      throw OutOfMemory(cat("plan '", plan->name, "' stages transfers through ", bytes_text(bytes),
                            " of pinned memory: ", e.what()));
    }
  }
}

// The host's end of a transfer that may go through a ring (device/streamer.hpp), -1 for others.
// Arguments, and constants that no step writes, are there before the run, so that the host may read
// them as it enqueues, unless a listener is to say when; what comes back waits, in its stream, for all
// that was asked of the memory before.
int Run::Impl::host_end(const Step& step, const std::vector<bool>& written) const {
  if (step.kind != Step::Kind::transfer || !Staging::is_worth(step.bytes)) return -1;
  const int source = root_of(plan->slots, step.operands[0].slot);
  const Slot &from = slot(source), &to = slot(root_of(plan->slots, step.operands[1].slot));
  if ((from.device == cpu) == (to.device == cpu)) return -1;
  if (to.device == cpu) return to.pinned ? -1 : 1;
  if (!step.listeners.empty()) return -1;
  if (from.kind == SlotKind::input) return 0;
  const bool stays = from.kind == SlotKind::constant && !written[static_cast<std::size_t>(source)];
  return stays ? 0 : -1;
}

std::vector<bool> Run::Impl::written_slots() const {
  std::vector<bool> written(plan->slots.size(), false);
  for (const Step& step : plan->steps)
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      if (step.writes(i))
        written[static_cast<std::size_t>(root_of(plan->slots, step.operands[i].slot))] = true;
  return written;
}

void Run::Impl::take_rings() {
  const std::vector<bool> written = written_slots();
  for (Ready& r : ready) {
    const int end = host_end(*r.step, written);
    if (end < 0) continue;
    const Device device = slot(r.step->operands[static_cast<std::size_t>(1 - end)].slot).device;
    if (auto ring = Staging::of(device)) {
      r.staging = ring.get();
      if (std::find(rings.begin(), rings.end(), ring) == rings.end())
        rings.push_back(std::move(ring));
    }
  }
}

Stream Run::Impl::stream_for(const Lane& lane) const {
  if (lane.stream) return *lane.stream;
  if (lane.transfers) return transfer_stream(lane.from, lane.to);
  if (lane.device == main.device()) return main;
  return lane.device.kind == Kind::cpu ? Stream::home(cpu) : Stream(lane.device);
}

// Arenas and constants were made in the order of the home streams: before these have passed this
// point, the memory may still belong to earlier work.
void Run::Impl::join(std::size_t i) const {
  const Lane& lane = plan->lanes[i];
  for (const Device d : {lane.transfers ? lane.from : lane.device, lane.to}) {
    const Stream home = Stream::home(d);
    if (d.kind == Kind::cpu || lanes[i] == home) continue;
    lanes[i].wait(home.record());
    for (const Storage& arena : arenas)
      if (arena.device() == d) arena.record_stream(lanes[i]);
  }
}

// The lane, which is another stream, may touch memory of the home stream's device.
bool Run::Impl::reaches(std::size_t i, const Stream& home) const {
  const Lane& lane = plan->lanes[i];
  const Device d = home.device();
  return !(lanes[i] == home) && (lane.device == d || lane.from == d || lane.to == d);
}

// Note [failed lanes]: transfer streams are shared. Work that fails on one fails the runs that have
// work behind it, which is skipped, and each of them reports it: its fence carries the failure. The
// next run takes another stream, so that nothing stays broken. The caller's streams and home
// streams are not replaced: their owner has to hear of the failure.
void Run::Impl::renew_lanes() {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (plan->lanes[i].stream || lanes[i] == main || !lanes[i].failed()) continue;
    lanes[i] = stream_for(plan->lanes[i]);
    join(i);
  }
}

// After a failure: nothing of this run may still write when its memory is used again.
void Run::Impl::settle() const noexcept {
  for (const Stream& s : lanes) {
    try {
      s.sync();
    } catch (...) {  // reported already, or stays with the stream, whose other users will see it
    }
  }
}

// The end of this run's own work, whatever others enqueued behind it.
void Run::Impl::wait_for_lane(std::size_t i) const {
  if (lanes[i] == main || fences.empty())
    lanes[i].sync();
  else
    fences[i + 1].sync();
}

void Run::Impl::make_lanes() {
  for (std::size_t i = 0; i < plan->lanes.size(); ++i) {
    lanes.push_back(stream_for(plan->lanes[i]));
    join(i);
  }
  const bool waits = !plan->starts.empty() ||
                     std::any_of(plan->steps.begin(), plan->steps.end(), [](const Step& s) {
                       return s.kind == Step::Kind::call || !s.listeners.empty();
                     });
  inline_run =
      !waits && lanes.size() == 1 && compute_device(lanes.front().device().kind).host_memory();
  if (lanes.size() == 1 && lanes.front() == main) return;
  if (!lanes.empty()) fences.emplace_back(main.device());
  for (const Stream& s : lanes) fences.emplace_back(s.device());
  for (const std::vector<int>* arguments : {&plan->inputs, &plan->outputs})
    for (int i : *arguments) {
      const Device d = slot(i).device;
      const bool known = std::any_of(homes.begin(), homes.end(),
                                     [&](const auto& h) { return h.first.device() == d; });
      if (d.kind != Kind::cpu && d != main.device() && !known)
        homes.emplace_back(Stream::home(d), RepeatedEvent(d));
    }
  event_of.assign(plan->steps.size(), -1);
  for (std::size_t t = 0; t < plan->steps.size(); ++t) {
    const Step& step = plan->steps[t];
    if (step.signals) {
      event_of[t] = static_cast<int>(events.size());
      events.emplace_back(lanes[static_cast<std::size_t>(step.lane)].device());
    }
    const bool asynchronous = !compute_device(step.device.kind).host_memory();
    for (const Access& a : step.operands)
      if (asynchronous && slot(a.slot).device.kind == Kind::cpu &&
          slot(root_of(plan->slots, a.slot)).kind != SlotKind::temporary &&
          std::find(host_lanes.begin(), host_lanes.end(), step.lane) == host_lanes.end())
        host_lanes.push_back(step.lane);
  }
}

void Run::Impl::bind_fixed() {
  std::vector<std::byte*> base(plan->slots.size(), nullptr);
  auto argument_of = [&](int s) {
    const auto in = std::find(plan->inputs.begin(), plan->inputs.end(), s);
    if (in != plan->inputs.end()) return static_cast<int>(in - plan->inputs.begin());
    const auto out = std::find(plan->outputs.begin(), plan->outputs.end(), s);
    return static_cast<int>(plan->inputs.size() +
                            static_cast<std::size_t>(out - plan->outputs.begin()));
  };
  for (std::size_t i = 0; i < base.size(); ++i) {
    const Slot& s = plan->slots[i];
    if (s.kind == SlotKind::constant)
      base[i] = static_cast<std::byte*>(s.constant.storage().data());
    if (s.kind == SlotKind::temporary && s.offset >= 0)
      base[i] = static_cast<std::byte*>(arena_of(s).data()) + s.offset;
  }
  for (std::size_t t = 0; t < plan->steps.size(); ++t) {
    const Step& step = plan->steps[t];
    Ready r{.step = &step, .launch = {}};
    r.launch.label = step.label.c_str();
    for (std::size_t o = 0; o < step.operands.size(); ++o) {
      const Access& a = step.operands[o];
      const int root = root_of(plan->slots, a.slot);
      const SlotKind kind = slot(root).kind;
      if (kind == SlotKind::input || kind == SlotKind::output)
        patches.push_back(
            {static_cast<int>(t), static_cast<int>(o), argument_of(root), a.byte_offset});
      else if (base[static_cast<std::size_t>(root)])
        r.launch.operand[o] = base[static_cast<std::size_t>(root)] + a.byte_offset;
    }
    if (step.workspace >= 0)
      r.launch.workspace = base[static_cast<std::size_t>(root_of(plan->slots, step.workspace))];
    ready.push_back(r);
  }
}

void Run::Impl::check(std::span<const Array> arrays, const std::vector<int>& slots,
                      const char* what) const {
  require<PlanError>(arrays.size() == slots.size(), "plan '", plan->name, "' takes ", slots.size(),
                     " ", what, "s, got ", arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Slot& s = slot(slots[i]);
    const Array& a = arrays[i];
    require<ShapeError>(a.shape() == s.layout.shape, "plan '", plan->name, "': ", what, " '",
                        s.label, "' was planned with shape ", s.layout.shape, ", got ", a.shape());
    require<DTypeError>(a.dtype() == s.dtype, "plan '", plan->name, "': ", what, " '", s.label,
                        "' was planned as ", tessera::name(s.dtype), ", got ",
                        tessera::name(a.dtype()));
    require<DeviceError>(a.device() == s.device, "plan '", plan->name, "': ", what, " '", s.label,
                         "' was planned on ", s.device, ", got an array on ", a.device(),
                         "; nothing is moved silently");
    require<ShapeError>(
        a.layout().strides == s.layout.strides || (a.layout().dense() && s.layout.dense()),
        "plan '", plan->name, "': ", what, " '", s.label, "' was planned with strides ",
        s.layout.strides, ", got ", a.layout().strides);
  }
}

void Run::Impl::patch(std::span<const Array> inputs, std::span<const Array> outputs) {
  for (const Array& out : outputs) {
    require<PlanError>(out.storage().writable(), "plan '", plan->name,
                       "': the output is read-only");
    for (const Array& in : inputs)
      require<PlanError>(
          !may_share_memory(in, out), "plan '", plan->name,
          "': the output shares memory with an input; give another output, or copy the input");
  }
  for (const Patch& p : patches) {
    const std::size_t i = static_cast<std::size_t>(p.argument);
    const Array& a = i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
    ready[static_cast<std::size_t>(p.step)].launch.operand[static_cast<std::size_t>(p.operand)] =
        static_cast<std::byte*>(a.data()) + p.byte_offset;
  }
}

void Run::Impl::run_inline() {
  if (!tracing()) {
    for (const Ready& r : ready)
      r.step->prepared.task.run(r.step->prepared.task.state.get(), r.launch);
    return;
  }
  for (const Ready& r : ready) {
    Span span(r.step->label, "cpu", r.step->bytes);
    r.step->prepared.task.run(r.step->prepared.task.state.get(), r.launch);
  }
}

Storage Run::Impl::arena_of(const Slot& s) const {
  if (s.pinned) {
    for (const auto& [kind, arena] : pinned)
      if (kind == *s.pinned) return arena;
  } else {
    for (const Storage& arena : arenas)
      if (arena.device() == s.device) return arena;
  }
  return {};
}

// Who owns the memory of a slot: what a call keeps of its arrays stays valid, if not unchanged.
Storage Run::Impl::owner_of(int i) const {
  const int root = root_of(plan->slots, i);
  const Slot& s = slot(root);
  if (s.kind == SlotKind::constant) return s.constant.storage();
  for (std::size_t k = 0; k < plan->inputs.size(); ++k)
    if (plan->inputs[k] == root) return inputs[k].storage();
  for (std::size_t k = 0; k < plan->outputs.size(); ++k)
    if (plan->outputs[k] == root) return outputs[k].storage();
  return arena_of(s);
}

void Run::Impl::call_step(std::size_t t) {
  const Step& step = *ready[t].step;
  const Stream& stream = lanes[static_cast<std::size_t>(step.lane)];
  const Stream home = Stream::home(step.device);
  stream.sync();
  const AllocationAllowed lifted;
  std::vector<Array> arrays;
  for (std::size_t o = 0; o < step.operands.size(); ++o) {
    const auto& [given, dtype] = step.call->operands[o];
    Layout layout = given;
    layout.offset = 0;  // pointers are at the first element
    const auto [lowest, highest] = layout.span();
    layout.offset = -lowest;
    void* base = static_cast<std::byte*>(ready[t].launch.operand[o]) + lowest * size_of(dtype);
    const bool writable = o + 1 == step.operands.size();
    const Storage memory = Storage::adopt(
        step.device, base, (highest - lowest + 1) * size_of(dtype),
        [owner = owner_of(step.operands[o].slot)] {}, writable);
    arrays.emplace_back(memory, layout, dtype);
  }
  const Span span(step.label, "call", step.bytes);
  step.call->run({arrays.data(), arrays.size() - 1}, arrays.back());
  if (!(stream == home)) stream.wait(home.record());
}

void Run::Impl::enqueue_step(std::size_t t) {
  const Ready& r = ready[t];
  const Step& step = *r.step;
  const Stream& stream = lanes[static_cast<std::size_t>(step.lane)];
  if (step.kind == Step::Kind::launch) {
    stream.launch(step.prepared.task, r.launch);
    return;
  }
  if (step.kind == Step::Kind::call) return call_step(t);
  const Device from = slot(step.operands[0].slot).device, to = slot(step.operands[1].slot).device;
  const Copy copy{.to = r.launch.operand[1],
                  .to_device = to,
                  .from = r.launch.operand[0],
                  .from_device = from,
                  .row_bytes = step.bytes / step.rows,
                  .rows = step.rows,
                  .to_pitch = step.to_pitch,
                  .from_pitch = step.from_pitch,
                  .label = r.launch.label};
  const std::size_t host = from == cpu ? 0 : 1;
  if (r.staging && !owner_of(step.operands[host].slot).is_pinned())
    r.staging->copy(stream, copy);
  else
    stream.copy(copy);
}

void Run::Impl::enqueue(std::size_t begin, std::size_t end) {
  for (std::size_t t = begin; t < end; ++t) {
    const Step& step = *ready[t].step;
    const Stream& stream = lanes[static_cast<std::size_t>(step.lane)];
    for (int u : step.waits)
      events[static_cast<std::size_t>(event_of[static_cast<std::size_t>(u)])].wait(stream);
    for (const RepeatedEvent& e : step.listeners) e.wait(stream);
    enqueue_step(t);
    if (step.signals) events[static_cast<std::size_t>(event_of[t])].record(stream);
  }
}

// Before any step, so that those which listen wait for this run and not for the one before it.
void Run::Impl::announce() {
  if (plan->starts.empty()) return;
  const Device where = plan->inputs.empty() ? main.device() : slot(plan->inputs.front()).device;
  const Stream ready = where == main.device() ? main : Stream::home(where);
  for (RepeatedEvent start : plan->starts) start.record(ready);
}

// A trace shows single steps, and settings may change at any time; what was asked for stays.
bool Run::Impl::wants_graphs() const {
  return graphs && (!unasked || (config().graph_after > 0 && !tracing()));
}

void Run::Impl::make_graphs() {
  auto made = std::make_unique<GraphCache>(plan->steps, plan->lanes);
  if (!made->empty()) graphs = std::move(made);
}

void Run::Impl::run_lanes() {
  const bool replays =
      wants_graphs() && graphs->select(inputs, outputs, lanes, unasked ? config().graph_after : 0);
  const NoAllocation guard;
  announce();
  if (!fences.empty()) {
    fences.front().record(main);
    for (const Stream& s : lanes)
      if (!(s == main)) fences.front().wait(s);
    for (auto& [home, start] : homes) {
      start.record(home);
      for (std::size_t i = 0; i < lanes.size(); ++i)
        if (reaches(i, home)) start.wait(lanes[i]);
    }
  }
  if (replays) {
    auto launch_on = [this](const Stream& stream, std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t)
        stream.launch(ready[t].step->prepared.task, ready[t].launch);
    };
    graphs->run([this](std::size_t begin, std::size_t end) { enqueue(begin, end); }, launch_on,
                lanes);
  } else {
    enqueue(0, ready.size());
  }
  if (fences.empty()) return;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i] == main) continue;
    fences[i + 1].record(lanes[i]);
    fences[i + 1].wait(main);
    for (const auto& [home, start] : homes)
      if (reaches(i, home)) fences[i + 1].wait(home);
  }
  // Host memory must be as the caller expects when the call returns: arrays on the cpu carry no
  // pending work.
  for (int lane : host_lanes) wait_for_lane(static_cast<std::size_t>(lane));
}

Run Plan::instance(const Stream& stream) const {
  for (const Slot& s : impl_->slots) {
    if (s.kind != SlotKind::constant) continue;
    require<PlanError>(s.device == s.constant.device(), "plan '", impl_->name,
                       "' is a forecast: it assumes '", s.label, "' on ", s.device,
                       ", and it is on ", s.constant.device());
  }
  auto impl = std::make_unique<Run::Impl>(stream);
  impl->plan = impl_;
  impl->allocate();
  impl->make_lanes();
  impl->bind_fixed();
  impl->take_rings();
  return Run(std::move(impl));
}

Run::Run(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;

Run::~Run() {
  if (!impl_ || impl_->inline_run) return;
  // Labels and graphs belong to this run: nothing of it may still be queued when they go.
  impl_->settle();
}

void Run::operator()(std::span<const Array> inputs, std::span<const Array> outputs) {
  impl_->check(inputs, impl_->plan->inputs, "input");
  impl_->check(outputs, impl_->plan->outputs, "output");
  impl_->patch(inputs, outputs);
  impl_->inputs = inputs;
  impl_->outputs = outputs;
  count(Counter::runs);
  const auto few = [](const Array& a) { return a.size() <= few_elements; };
  if (watching() && std::ranges::all_of(inputs, few) && std::ranges::all_of(outputs, few))
    add_watched(Watched::small_launches, static_cast<i64>(impl_->ready.size()));
  const Span span(impl_->plan->name, "runs");  // what the host spends: all of it, or to enqueue
  if (impl_->inline_run) {
    count(Counter::launches, static_cast<i64>(impl_->ready.size()));
    if (!config().poison) return impl_->run_inline();
    const NoAllocation guard;
    return impl_->run_inline();
  }
  impl_->renew_lanes();
  try {
    impl_->run_lanes();
  } catch (...) {
    impl_->settle();
    throw;
  }
}

void Run::capture() {
  impl_->unasked = false;
  if (!impl_->inline_run && !impl_->graphs) impl_->make_graphs();
}

void Run::capture_when_repeated() {
  if (impl_->inline_run || impl_->graphs) return;
  impl_->make_graphs();
  impl_->unasked = true;
}

bool Run::captured() const {
  return impl_->graphs && (!impl_->unasked || impl_->graphs->holds_graphs());
}

void Run::sync() {
  for (std::size_t i = 0; i < impl_->lanes.size(); ++i) impl_->wait_for_lane(i);
  impl_->main.sync();
}

const Stream& Run::stream() const { return impl_->main; }

}  // namespace tessera
