// SPDX-License-Identifier: Apache-2.0
#pragma once
// The moving parts of the sim devices: operations, events, and streams with a worker thread each.
// An operation is kept by value in a ring made with the stream: enqueueing allocates nothing and
// blocks when the ring is full. Only sim_device.cpp uses this.
//   auto s = SimStream::start(unit);   s->push(SimOp::launch(task, launch));   s->sync();

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/device/compute_device.hpp"

namespace tessera {

class SimStream;
struct SimGraph;

// One device.
struct SimUnit {
  int index = 0;
  std::atomic<bool> lost{false};
  std::atomic<bool> isolated{false};
  std::atomic<i64> allocations_left{-1};  // before requests fail; negative: they do not
  std::atomic<i64> tasks_left{-1};        // before one fails
  std::atomic<i64> captures_left{-1};     // before they fail
  std::atomic<i64> used{0};
  std::mutex mutex;
  std::vector<std::weak_ptr<SimStream>> streams;
  std::vector<std::shared_ptr<SimStream>> idle;  // whose owners are gone: start() gives them again

  std::string name() const;
  void check_alive() const;  // DeviceError when the device is lost
  void count_capture();      // DeviceError when none is left
  std::exception_ptr loss() const;
  std::vector<std::shared_ptr<SimStream>> living();
};

// Records are numbered when they are asked for and count as done in that order, so a wait for
// number n can never be let through by a later record on a faster stream.
class SimEvent {
 public:
  i64 next();
  i64 newest();
  void complete(i64 number, std::exception_ptr error);
  std::exception_ptr wait(i64 number);  // the failure that the record carried
  bool done();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  i64 recorded_ = 0, completed_ = 0;
  std::vector<i64> early_;  // completed before their turn
  i64 first_failed_ = 0, last_failed_ = -1;
  std::exception_ptr error_;
};

struct SimOp {
  enum class What : std::uint8_t { none, launch, copy, fill, record, wait, graph };
  What what = What::none;
  Task task;
  Launch launch;
  Copy copy;  // of a fill: the target only
  int byte = 0;
  std::shared_ptr<SimEvent> event;
  i64 number = 0;
  std::shared_ptr<const SimGraph> graph;
};

struct SimGraph {
  std::vector<SimOp> ops;
};

class SimStream : public std::enable_shared_from_this<SimStream> {
 public:
  // One with a worker: a stream of an earlier owner that had nothing left to do, or a new one.
  static std::shared_ptr<SimStream> start(SimUnit& unit);
  explicit SimStream(SimUnit& unit);
  void set_native(const void* handle) { native_ = handle; }  // before anything is pushed

  void push(SimOp op);
  // Until everything enqueued so far has ended; rethrows the failure that sticks to the stream.
  // From the stream's own worker (a task's state that lets go of memory) it does not wait: it would
  // for itself.
  void sync();
  void drain() noexcept;
  void clear_failure();
  bool failed() noexcept;
  void give_up() noexcept;  // by its owner: the worker ends what was asked of it
  void begin_capture();
  std::shared_ptr<const SimGraph> end_capture();

 private:
  static constexpr i64 capacity = 256;
  static constexpr std::size_t kept_idle = 16;  // of a device
  bool on_worker() const;
  bool rests();  // nothing was asked that has not ended, and nothing went wrong
  void check_usable() const;
  void work();
  bool pop(SimOp& op);
  void run(const SimOp& op);
  void run_launch(const SimOp& op);
  void run_copy(const Copy& copy);
  std::string track() const;  // empty when no trace runs
  std::exception_ptr failure();
  void fail(std::exception_ptr error);

  SimUnit& unit_;
  const void* native_ = nullptr;  // what the rest of the library knows this stream by
  const int generation_;          // of forks: a child has no worker
  std::mutex mutex_;
  std::condition_variable filled_, drained_, progressed_;
  std::vector<SimOp> ring_;
  std::deque<SimOp> overflow_;  // what the worker itself enqueues while the ring is full
  i64 head_ = 0, tail_ = 0;     // taken, put
  i64 enqueued_ = 0, completed_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::unique_ptr<SimGraph> capture_;
};

// Note [sim addresses]
// Pointers to sim memory that leave this folder are moved by this many bytes, to where no process
// has memory: code that dereferences a device pointer on the host ends at once, on the machine
// without a GPU. Arithmetic on them is unharmed. Workers move them back.
inline constexpr std::uintptr_t sim_address_shift = std::uintptr_t{1} << 52;
inline void* sim_to_host(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return reinterpret_cast<void*>(address & sim_address_shift ? address - sim_address_shift
                                                             : address);
}
inline void* host_to_sim(void* p) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) + sim_address_shift);
}

}  // namespace tessera
