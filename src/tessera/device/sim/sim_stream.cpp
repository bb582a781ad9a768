// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/sim/sim_stream.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/signals_blocked.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/stream_track.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

thread_local const SimStream* worker_of = nullptr;

std::atomic<int> forks{0};
int fork_generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

// A sleep takes 50 us more than was asked for, and longer on a busy machine; what is shorter is
// waited out.
constexpr std::chrono::microseconds shortest_sleep(20);

void random_delay() {
  const i64 most = config().sim_delay_us;
  if (most <= 0) return;
  static std::atomic<std::uint64_t> seeds{0x9E3779B97F4A7C15u};
  thread_local std::uint64_t state = seeds.fetch_add(0x9E3779B97F4A7C15u);
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  const std::chrono::microseconds delay(state % static_cast<std::uint64_t>(most + 1));
  if (delay > shortest_sleep) return std::this_thread::sleep_for(delay);
  for (const auto end = std::chrono::steady_clock::now() + delay;
       std::chrono::steady_clock::now() < end;) {
  }
}

}  // namespace

std::string SimUnit::name() const { return cat("sim:", index); }

std::exception_ptr SimUnit::loss() const {
  return std::make_exception_ptr(
      DeviceError(cat(name(), ": the device was lost; its memory and its queued work are gone")));
}

void SimUnit::check_alive() const {
  if (lost.load()) std::rethrow_exception(loss());
}

void SimUnit::count_capture() {
  if (captures_left.load() < 0) return;
  require<DeviceError>(captures_left.load() > 0, name(), ": injected failure of a capture");
  captures_left.fetch_sub(1);
}

std::vector<std::shared_ptr<SimStream>> SimUnit::living() {
  std::lock_guard lock(mutex);
  std::erase_if(streams, [](const auto& s) { return s.expired(); });
  std::vector<std::shared_ptr<SimStream>> found;
  for (const auto& weak : streams)
    if (auto stream = weak.lock()) found.push_back(std::move(stream));
  return found;
}

i64 SimEvent::next() {
  std::lock_guard lock(mutex_);
  return ++recorded_;
}

i64 SimEvent::newest() {
  std::lock_guard lock(mutex_);
  return recorded_;
}

void SimEvent::complete(i64 number, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (error) {
    if (number > last_failed_ + 1) first_failed_ = number;
    error_ = std::move(error);
    last_failed_ = std::max(last_failed_, number);
  }
  early_.push_back(number);
  for (bool moved = true; moved;) {
    moved = std::erase(early_, completed_ + 1) > 0;
    if (moved) ++completed_;
  }
  changed_.notify_all();
}

std::exception_ptr SimEvent::wait(i64 number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= number; });
  return number >= first_failed_ && number <= last_failed_ ? error_ : nullptr;
}

bool SimEvent::done() {
  std::lock_guard lock(mutex_);
  return completed_ >= recorded_;
}

SimStream::SimStream(SimUnit& unit)
    : unit_(unit), generation_(fork_generation()), ring_(static_cast<std::size_t>(capacity)) {}

// To start a thread takes longer than most of what is asked of a stream, far longer under a
// sanitizer, and every run has streams of its own.
std::shared_ptr<SimStream> SimStream::start(SimUnit& unit) {
  std::shared_ptr<SimStream> stream;
  {
    std::lock_guard lock(unit.mutex);
    while (!stream && !unit.idle.empty()) {
      stream = std::move(unit.idle.back());
      unit.idle.pop_back();
      if (stream->generation_ != forks.load(std::memory_order_relaxed)) stream = nullptr;
    }
    if (stream) return stream;
    stream = std::make_shared<SimStream>(unit);
    std::erase_if(unit.streams, [](const auto& s) { return s.expired(); });
    unit.streams.push_back(stream);
  }
  // Detached: the worker shares ownership and ends after give_up(); home streams never do.
  const SignalsBlocked quiet;
  std::thread([stream] { stream->work(); }).detach();
  return stream;
}

bool SimStream::on_worker() const { return worker_of == this; }

void SimStream::check_usable() const {
  require<DeviceError>(
      generation_ == forks.load(std::memory_order_relaxed), unit_.name(),
      ": the stream was made before this process was forked; start children with spawn");
}

void SimStream::push(SimOp op) {
  check_usable();
  unit_.check_alive();
  std::unique_lock lock(mutex_);
  if (capture_) {
    require<PlanError>(op.what != SimOp::What::record && op.what != SimOp::What::wait, unit_.name(),
                       ": events cannot be recorded or waited for inside a capture");
    unit_.count_capture();
    capture_->ops.push_back(std::move(op));
    return;
  }
  ++enqueued_;
  if (on_worker() && (tail_ - head_ == capacity || !overflow_.empty())) {
    overflow_.push_back(std::move(op));  // waiting for room would be waiting for itself
    return;
  }
  drained_.wait(lock, [&] { return tail_ - head_ < capacity && overflow_.empty(); });
  ring_[static_cast<std::size_t>(tail_++ % capacity)] = std::move(op);
  filled_.notify_one();
}

void SimStream::sync() {
  check_usable();
  std::unique_lock lock(mutex_);
  require<PlanError>(!capture_, unit_.name(),
                     ": a stream cannot be waited for while it is captured");
  if (!on_worker()) {
    const i64 target = enqueued_;
    progressed_.wait(lock, [&] { return completed_ >= target; });
  }
  if (failure_) std::rethrow_exception(failure_);
  unit_.check_alive();
}

void SimStream::drain() noexcept {
  if (generation_ != forks.load(std::memory_order_relaxed) || on_worker()) return;
  std::unique_lock lock(mutex_);
  const i64 target = enqueued_;
  progressed_.wait(lock, [&] { return completed_ >= target; });
}

void SimStream::clear_failure() {
  std::lock_guard lock(mutex_);
  failure_ = nullptr;
}

bool SimStream::failed() noexcept {
  std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

bool SimStream::rests() {
  std::lock_guard lock(mutex_);
  return completed_ == enqueued_ && !failure_ && !capture_;
}

void SimStream::give_up() noexcept {
  if (rests() && !on_worker()) {
    std::lock_guard lock(unit_.mutex);
    if (unit_.idle.size() < kept_idle) {
      unit_.idle.push_back(shared_from_this());
      return;
    }
  }
  std::lock_guard lock(mutex_);
  stop_ = true;
  filled_.notify_all();
}

void SimStream::begin_capture() {
  std::lock_guard lock(mutex_);
  require<PlanError>(!capture_, unit_.name(), ": the stream is being captured already");
  capture_ = std::make_unique<SimGraph>();
}

std::shared_ptr<const SimGraph> SimStream::end_capture() {
  std::lock_guard lock(mutex_);
  require<PlanError>(capture_ != nullptr, unit_.name(), ": no capture was begun on this stream");
  return std::move(capture_);
}

std::exception_ptr SimStream::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

void SimStream::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
}

bool SimStream::pop(SimOp& op) {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return head_ < tail_ || stop_; });
  if (head_ == tail_) return false;
  op = std::move(ring_[static_cast<std::size_t>(head_++ % capacity)]);
  if (!overflow_.empty()) {
    ring_[static_cast<std::size_t>(tail_++ % capacity)] = std::move(overflow_.front());
    overflow_.pop_front();
  }
  drained_.notify_all();
  return true;
}

void SimStream::work() {
  worker_of = this;
  const OneThread own;
  pthread_setname_np(pthread_self(), unit_.name().c_str());
  SimOp op;
  while (pop(op)) {
    random_delay();
    run(op);
    op = SimOp{};  // the state goes before the operation counts as ended
    std::lock_guard lock(mutex_);
    ++completed_;
    progressed_.notify_all();
  }
}

void SimStream::run(const SimOp& op) {
  if (unit_.lost.load()) fail(unit_.loss());
  const std::exception_ptr failed = failure();
  if (op.what == SimOp::What::record) return op.event->complete(op.number, failed);
  if (op.what == SimOp::What::wait) {
    if (auto error = op.event->wait(op.number)) fail(std::move(error));
    return;
  }
  if (failed) return;
  switch (op.what) {
    case SimOp::What::launch: return run_launch(op);
    case SimOp::What::copy: return run_copy(op.copy);
    case SimOp::What::fill:
      std::memset(sim_to_host(op.copy.to), op.byte, static_cast<std::size_t>(op.copy.row_bytes));
      return;
    case SimOp::What::graph:
      for (const SimOp& inner : op.graph->ops) run(inner);
      return;
    default: return;
  }
}

void SimStream::run_copy(const Copy& copy) {
  const std::string track = this->track();
  const std::string ends = tracing() ? cat("copy ", copy.from_device, " -> ", copy.to_device) : "";
  const Span span(copy.label ? std::string_view(copy.label) : ends, track, copy.bytes());
  char* const to = static_cast<char*>(sim_to_host(copy.to));
  const char* const from = static_cast<const char*>(sim_to_host(copy.from));
  for (i64 r = 0; r < copy.rows; ++r)
    std::memmove(to + r * copy.to_pitch, from + r * copy.from_pitch,
                 static_cast<std::size_t>(copy.row_bytes));
}

std::string SimStream::track() const {
  if (!tracing()) return {};
  return stream_track({Kind::sim, static_cast<std::int16_t>(unit_.index)}, native_);
}

void SimStream::run_launch(const SimOp& op) {
  try {
    if (unit_.tasks_left.load() >= 0 && unit_.tasks_left.fetch_sub(1) == 0)
      throw DeviceError(cat(unit_.name(), ": a task failed (a failure that a test asked for)"));
    Launch launch = op.launch;
    for (void*& p : launch.operand) p = sim_to_host(p);
    launch.workspace = sim_to_host(launch.workspace);
    const std::string track = this->track();
    const Span span(launch.label ? launch.label : "kernel", track);
    op.task.run(op.task.state.get(), launch);
  } catch (...) {
    fail(std::current_exception());
  }
}

}  // namespace tessera
