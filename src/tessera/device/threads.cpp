// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/signals_blocked.hpp"
#include "tessera/device/host_limits.hpp"

// Weak: where the process has another BLAS, there is nothing to hold.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace tessera {
namespace {

constexpr int max_threads = 1024;
constexpr int slot_count = 64;  // jobs at one time; a caller that finds none free works alone

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// True as soon as `ready()` is, false after about 15 microseconds: shorter than a futex round trip
// costs, too short to matter to the others on a crowded machine.
template <class Ready>
bool spin_until(Ready&& ready) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::microseconds(15);
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < limit);
  return ready();
}

// Note [joining a job]
// A job lives in a slot that is never freed. Its owner fills the slot, then sets its bit in
// `open_`. A worker first counts itself into `users`, then looks at the bit again: if it is set,
// the owner cannot leave before the worker has counted itself out, so the fields hold still; if it
// is clear, the worker touches nothing. The owner clears the bit and waits for users == 0. Both
// sides are sequentially consistent, so one of them sees the other.
struct alignas(64) Slot {
  std::atomic<i64> next{0};  // the chunk to hand out
  i64 chunks = 0, n = 0, grain = 0;
  detail::ChunkFn run = nullptr;
  void* body = nullptr;
  int helpers = 0;
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  alignas(64) std::atomic<int> users{0};

  void work() {
    while (!failed.load(std::memory_order_relaxed)) {
      const i64 chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      try {
        run(body, chunk * grain, std::min(n, (chunk + 1) * grain));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  }
};

class ThreadPool {
 public:
  static ThreadPool& instance();

  void run(i64 chunks, i64 n, i64 grain, int threads, detail::ChunkFn run, void* body) {
    const int index = take_slot();
    if (index < 0) return run(body, 0, n);
    Slot& slot = slots_[index];
    slot.next.store(0, std::memory_order_relaxed);
    slot.failed.store(false, std::memory_order_relaxed);
    slot.chunks = chunks;
    slot.n = n;
    slot.grain = grain;
    slot.run = run;
    slot.body = body;
    slot.helpers = static_cast<int>(std::min<i64>(threads, chunks)) - 1;
    ensure_started(threads - 1);
    open_.fetch_or(std::uint64_t{1} << index);
    wake(slot.helpers);
    slot.work();
    open_.fetch_and(~(std::uint64_t{1} << index));
    const auto alone = [&] { return slot.users.load() == 0; };
    if (!spin_until(alone))
      for (int left = slot.users.load(); left != 0; left = slot.users.load()) slot.users.wait(left);
    std::exception_ptr error = std::move(slot.error);
    slot.error = nullptr;
    used_.fetch_and(~(std::uint64_t{1} << index), std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }

 private:
  int take_slot() {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    while (~used != 0) {
      const int index = std::countr_one(used);
      if (used_.compare_exchange_weak(used, used | std::uint64_t{1} << index,
                                      std::memory_order_acquire, std::memory_order_relaxed))
        return index;
    }
    return -1;
  }

  void wake(int helpers) {
    epoch_.fetch_add(1);
    const int sleepers = sleepers_.load();
    if (sleepers == 0) return;
    if (helpers >= sleepers) return epoch_.notify_all();
    for (int i = 0; i < helpers; ++i) epoch_.notify_one();
  }

  void ensure_started(int workers) {
    if (started_.load(std::memory_order_relaxed) >= workers) return;
    std::lock_guard lock(start_mutex_);
    const SignalsBlocked quiet;
    try {
      for (int i = started_.load(); i < workers; ++i) {
        std::thread([this] { worker(); }).detach();  // never ends: the pool is never destroyed
        started_.store(i + 1, std::memory_order_relaxed);
      }
    } catch (const std::system_error&) {
      // No more threads to be had: the work is done with those that there are.
    }
  }

  bool help() {
    bool helped = false;
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1) {
      const int index = std::countr_zero(open);
      Slot& slot = slots_[index];
      const int before = slot.users.fetch_add(1);
      if ((open_.load() >> index & 1) != 0 && before < slot.helpers &&
          slot.next.load(std::memory_order_relaxed) < slot.chunks) {
        slot.work();
        helped = true;
      }
      if (slot.users.fetch_sub(1) == 1) slot.users.notify_all();
    }
    return helped;
  }

  void worker() {
    pthread_setname_np(pthread_self(), "tessera");
    while (true) {
      const int seen = epoch_.load();
      if (help() || spin_until([&] { return epoch_.load() != seen; })) continue;
      sleepers_.fetch_add(1);
      epoch_.wait(seen);
      sleepers_.fetch_sub(1);
    }
  }

  Slot slots_[slot_count];
  alignas(64) std::atomic<std::uint64_t> used_{0};  // slots that belong to a caller
  std::atomic<std::uint64_t> open_{0};              // slots that take helpers
  alignas(64) std::atomic<int> epoch_{0};  // one up with each job; idle workers wait for it
  std::atomic<int> sleepers_{0};
  std::atomic<int> started_{0};
  std::mutex start_mutex_;
};

// Never destroyed: workers may still sleep in it when the statics go. A forked child, where the
// workers do not exist, forgets the pool and makes another when it first needs one.
std::atomic<ThreadPool*> the_pool{nullptr};

ThreadPool& ThreadPool::instance() {
  if (ThreadPool* pool = the_pool.load(std::memory_order_acquire)) return *pool;
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
  (void)at_fork;
  ThreadPool *fresh = new ThreadPool, *expected = nullptr;
  if (the_pool.compare_exchange_strong(expected, fresh)) return *fresh;
  delete fresh;
  return *expected;
}

std::atomic<int> library_threads{0};
thread_local int alone = 0;

}  // namespace

OneThread::OneThread() { ++alone; }
OneThread::~OneThread() { --alone; }
bool OneThread::here() { return alone > 0; }

int num_threads() { return alone > 0 ? 1 : process_threads(); }

int process_threads() {
  if (const i64 wanted = config().num_threads; wanted > 0)
    return static_cast<int>(std::min<i64>(wanted, max_threads));
  static const int found = default_threads();
  return found;
}

void set_num_threads(int n) {
  require<ArgumentError>(n >= 0 && n <= max_threads, "set_num_threads: ", n,
                         " threads asked for; expected 1 to ", max_threads);
  config().num_threads.set(std::max(n, 1));  // none besides the caller is one
  limit_library_threads();
}

void limit_library_threads() {
  const int n = process_threads();
  if (library_threads.load(std::memory_order_relaxed) == n) return;
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(n);
  library_threads.store(n, std::memory_order_relaxed);
}

namespace detail {

void parallel_for(i64 n, i64 min_grain, ChunkFn run, void* body) {
  const int threads = num_threads();
  if (threads == 1 || n <= min_grain) return run(body, 0, n);
  const i64 share = (n - 1) / (4 * i64{threads}) + 1;
  const i64 grain = std::max({min_grain, share, i64{1}});
  const i64 chunks = (n - 1) / grain + 1;
  if (chunks == 1) return run(body, 0, n);
  ThreadPool::instance().run(chunks, n, grain, threads, run, body);
}

}  // namespace detail
}  // namespace tessera
