// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/stream_plan.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "tessera/base/hash.hpp"
#include "tessera/base/report/progress.hpp"
#include "tessera/streaming/plan/device_carrier.hpp"
#include "tessera/streaming/plan/planning.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 most_steps_ahead = 32;
constexpr i64 page = 4096;
constexpr i64 line = 64;
constexpr auto long_run = std::chrono::seconds(2);

std::atomic<void (*)()> between_steps{nullptr};

}  // namespace

void set_stream_poll(void (*poll)()) { between_steps = poll; }
void poll_stream() {
  if (void (*poll)() = between_steps.load(std::memory_order_relaxed)) poll();
}

i64 StreamPlan::rounded(i64 bytes) {
  const i64 unit = bytes >= 16 * page ? page : line;
  return (bytes + unit - 1) / unit * unit;
}

void require_budget(std::string_view who, const Options& options, i64 least) {
  require<OutOfMemory>(
      budget_of(options) >= least, who, ": a budget of ", exact_bytes(options.budget),
      " is too small, the least for these operands is ", exact_and_short_bytes(least));
}

bool overlap(const Box& a, const Box& b) {
  for (i64 d = 0; d < a.begin.size(); ++d)
    if (a.begin[d] >= b.begin[d] + b.shape[d] || b.begin[d] >= a.begin[d] + a.shape[d])
      return false;
  return true;
}

Array Buffers::operator()(const BufferView& view) const {
  Layout layout = view.layout;
  layout.offset += offsets_[static_cast<std::size_t>(view.buffer)] / size_of(view.dtype);
  return Array(block_.storage(), std::move(layout), view.dtype);
}

void StreamPlan::compute_on(Device device) {
  figures_.device = device;
  figures_.pinned = device == cpu ? 0 : DeviceCarrier::pinned_bytes();
}

i64 StreamPlan::add_store(std::string role, StorePtr store) {
  figures_.stores.push_back({std::move(role), store->describe(), store->on_disk(), {}, 0});
  stores_.push_back(std::move(store));
  return static_cast<i64>(stores_.size()) - 1;
}

i64 StreamPlan::add_buffer(i64 bytes) {
  offsets_.push_back(phase_bytes_);
  last_use_.push_back(-1);
  phase_bytes_ += rounded(bytes);
  const i64 more = std::max<i64>(0, phase_bytes_ - buffer_bytes_);
  buffer_bytes_ += more;
  figures_.held += more;
  return static_cast<i64>(offsets_.size()) - 1;
}

void StreamPlan::begin_phase() {
  phase_bytes_ = 0;
  begins_phase_ = !steps_.empty();
}

void StreamPlan::count_read(const Move& m) {
  const std::size_t at = static_cast<std::size_t>(m.store);
  figures_.stores[at].wanted.read += m.box.size() * size_of(stores_[at]->grid().dtype());
  i64& read = figures_.stores[at].read;
  ++figures_.transfers;
  if (figures_.device == cpu || !stores_[at]->on_disk()) {
    read += stores_[at]->bytes_to_read(m.box, m.view.layout);
    return;
  }
  const store::TileGrid parts = DeviceCarrier::parts(m.box.shape, m.view.dtype);
  for (i64 k = 0; k < parts.tiles(); ++k) {
    Box part = parts.tile(k);
    for (i64 d = 0; d < part.begin.size(); ++d) part.begin[d] += m.box.begin[d];
    read += stores_[at]->bytes_to_read(part, Layout::contiguous(part.shape));
  }
}

void StreamPlan::count_write(const Move& m) {
  const std::size_t at = static_cast<std::size_t>(m.store);
  figures_.stores[at].wanted.written += m.box.size() * size_of(stores_[at]->grid().dtype());
  ++figures_.transfers;
}

void StreamPlan::add_preload(Move move) {
  count_read(move);
  preloads_.push_back(std::move(move));
}

namespace {

std::uint64_t fingerprint_with(std::uint64_t before, const Step& step) {
  std::vector<i64> said{static_cast<i64>(before), step.restarts + 2 * step.waits, step.overwrites};
  for (const std::vector<Move>* moves : {&step.reads, &step.writes, &step.restores})
    for (const Move& m : *moves) {
      said.push_back(m.store);
      said.insert(said.end(), m.box.begin.begin(), m.box.begin.end());
      said.insert(said.end(), m.box.shape.begin(), m.box.shape.end());
    }
  return hash_bytes(said.data(), said.size() * sizeof(i64));
}

}  // namespace

void StreamPlan::add_step(Step step) {
  const i64 now = steps();
  step.waits = step.waits || std::exchange(begins_phase_, false);
  const auto last = [&](i64 buffer) -> i64& { return last_use_[static_cast<std::size_t>(buffer)]; };
  std::vector<i64> free_after;
  for (const Move& m : step.reads) {
    free_after.push_back(last(m.view.buffer));
    count_read(m);
  }
  for (const Move& m : step.writes) {
    last(m.view.buffer) = now;
    count_write(m);
  }
  for (const Move& m : step.reads) last(m.view.buffer) = now;
  for (const i64 b : step.uses) last(b) = now;
  free_after_.push_back(std::move(free_after));
  fingerprint_ = fingerprint_with(fingerprint_, step);
  steps_.push_back(std::move(step));
  ++figures_.steps;
}

void StreamPlan::add_traffic(i64 store, i64 read, i64 written) {
  StoreFigures& used = figures_.stores[static_cast<std::size_t>(store)];
  used.wanted.read += read;
  used.read += read;
  used.wanted.written += written;
}

// One walk over the steps. Whatever happens, every transfer has ended before the block goes.
class StreamPlan::Run {
 public:
  Run(StreamPlan& plan, const Watch& watch)
      : plan_(plan),
        watch_(watch),
        block_(Array::empty({plan.buffer_bytes_}, DType::u8, plan.figures_.device)),
        buffers_(block_, plan.offsets_),
        reads_(plan.steps_.size()),
        ahead_(watch.first) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    for (const auto& step : reads_)
      for (const store::Transfer& t : step) settle(t);
    for (const Pending& w : writes_) settle(w.transfer);
  }

  Array operator()() {
    if (block_.device() != cpu) carrier_.emplace(block_.device());
    for (const Move& m : plan_.preloads_) read(m).wait();
    if (watch_.first > 0 && watch_.first < plan_.steps())
      for (const Move& m : plan_.steps_[static_cast<std::size_t>(watch_.first)].restores)
        read(m).wait();
    for (i64 now = watch_.first; now < plan_.steps(); ++now) {
      const Step& step = plan_.steps_[static_cast<std::size_t>(now)];
      look_around(now, step);
      issue_reads(now);
      auto& mine = reads_[static_cast<std::size_t>(now)];
      for (const store::Transfer& t : mine) t.wait();
      mine = {};
      for (const i64 b : step.uses) wait_for_buffer(b);
      for (const Move& m : step.writes) wait_for_buffer(m.view.buffer);
      if (step.compute) compute(step);
      for (const Move& m : step.writes) write(m);
    }
    while (!writes_.empty()) finish(0);
    return plan_.result_of_ ? plan_.result_of_(buffers_) : Array();
  }

 private:
  // Between two steps: may it go on, is this a mark, how far is it.
  void look_around(i64 now, const Step& step) {
    poll_stream();
    if (step.restarts && watch_.wants_mark &&
        ((step.overwrites && now > watch_.first) || watch_.wants_mark(now))) {
      while (!writes_.empty()) finish(0);
      watch_.mark(now);
    }
    if (!bar_ && std::chrono::steady_clock::now() - began_ > long_run) {
      const i64 all = plan_.bytes_read() + plan_.bytes_written();
      bar_.emplace(plan_.figures_.title, all, Progress::on_terminal());
    }
    if (bar_) bar_->update(moved_, cat(bytes_text(moved_), " moved"));
    for (const auto* moves : {&step.reads, &step.writes})
      for (const Move& m : *moves) moved_ += m.box.size() * size_of(m.view.dtype);
  }

  struct Pending {
    const Move* move;
    store::Transfer transfer;
  };

  static void settle(const store::Transfer& t) noexcept {
    try {
      t.wait();
    } catch (...) {  // the first error is on its way already
    }
  }

  void finish(std::size_t k) {
    const store::Transfer t = writes_[k].transfer;
    writes_.erase(writes_.begin() + static_cast<std::ptrdiff_t>(k));
    t.wait();
  }
  void wait_for_buffer(i64 buffer) {
    for (std::size_t k = writes_.size(); k-- > 0;)
      if (writes_[k].move->view.buffer == buffer) finish(k);
  }
  void wait_for_box(i64 store, const Box& box) {
    for (std::size_t k = writes_.size(); k-- > 0;)
      if (same(writes_[k].move->store, store) && overlap(writes_[k].move->box, box)) finish(k);
  }
  // Whether a write under way still needs the buffer, or changes the elements, of a read.
  bool is_being_written(const Move& read) const {
    return std::any_of(writes_.begin(), writes_.end(), [&](const Pending& w) {
      const bool meets = w.move->view.buffer == read.view.buffer ||
                         (same(w.move->store, read.store) && overlap(w.move->box, read.box));
      return meets && !w.transfer.done();
    });
  }
  bool same(i64 a, i64 b) const {
    return plan_.stores_[static_cast<std::size_t>(a)] == plan_.stores_[static_cast<std::size_t>(b)];
  }

  // Reads in order, until one needs a buffer or elements of a step that has not been computed.
  void issue_reads(i64 now) {
    for (; ahead_ < plan_.steps() && ahead_ <= now + most_steps_ahead; ++ahead_, read_ = 0) {
      const std::size_t at = static_cast<std::size_t>(ahead_);
      if (plan_.steps_[at].waits && read_ == 0) {
        if (ahead_ > now) return;
        while (!writes_.empty()) finish(0);
      }
      const std::vector<Move>& moves = plan_.steps_[at].reads;
      for (; read_ < moves.size(); ++read_) {
        if (plan_.free_after_[at][read_] >= now || is_written_between(now, moves[read_])) return;
        // A step that is not due yet does not hold up the one that is.
        if (ahead_ > now && is_being_written(moves[read_])) return;
        wait_for_buffer(moves[read_].view.buffer);
        wait_for_box(moves[read_].store, moves[read_].box);
        reads_[at].push_back(read(moves[read_]));
      }
    }
  }
  bool is_written_between(i64 now, const Move& read) const {
    for (i64 s = now; s < ahead_; ++s)
      for (const Move& w : plan_.steps_[static_cast<std::size_t>(s)].writes)
        if (same(w.store, read.store) && overlap(w.box, read.box)) return true;
    return false;
  }
  // Transfers use the buffers next.
  void compute(const Step& step) const {
    step.compute(buffers_);
    if (carrier_) Stream::home(block_.device()).sync();
  }
  store::Transfer read(const Move& m) {
    return carrier_ ? carrier_->read(store_of(m), m.box, buffers_(m.view))
                    : store_of(m).read(m.box, buffers_(m.view));
  }
  void write(const Move& m) {
    wait_for_box(m.store, m.box);
    writes_.push_back({&m, carrier_ ? carrier_->write(store_of(m), m.box, buffers_(m.view))
                                    : store_of(m).write(m.box, buffers_(m.view))});
  }
  store::TileStore& store_of(const Move& m) const {
    return *plan_.stores_[static_cast<std::size_t>(m.store)];
  }

  StreamPlan& plan_;
  const Watch& watch_;
  Array block_;
  Buffers buffers_;
  std::optional<DeviceCarrier> carrier_;  // where the block is on a device
  std::vector<std::vector<store::Transfer>> reads_;
  std::vector<Pending> writes_;
  i64 ahead_ = 0;         // the step whose reads come next
  std::size_t read_ = 0;  // the read of it
  i64 moved_ = 0;         // bytes, by the steps so far
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::optional<Progress> bar_;
};

Array StreamPlan::run(const Watch& watch) {
  Planning* planning = Planning::now();
  if (!planning) return Run(*this, watch)();
  planning->add(figures_, stores_);
  return result_of_ ? planned_numbers(given_.first, given_.second) : Array();
}

}  // namespace tessera::streaming
