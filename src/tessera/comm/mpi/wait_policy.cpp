// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/wait_policy.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "tessera/base/config.hpp"
#include "tessera/comm/mpi/watch.hpp"

namespace tessera::mpi {
namespace {

constexpr double spin_seconds = 50e-6, yield_seconds = 1e-3;
constexpr double notes_after = 0.02, processes_after = 1, check_every = 0.25;
constexpr long nap_nanoseconds = 1'000'000, long_nap_nanoseconds = 20'000'000;
constexpr double slow_yield = 0.5e-3;
constexpr int sleeps_after_slow_yield = 1000;
// A message may still be on its way when its sender is found to be gone.
constexpr double doomed_seconds = 0.2;

// A sleep may last longer than asked for by the thread's slack, 50 microseconds unless told: as
// long again as these are.
void doze(useconds_t microseconds) {
  const int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1UL);
  usleep(microseconds);
  if (slack > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
}

// False where the time ended before somebody woke this process.
bool sleep_on(const std::atomic<int>& word, int seen, long nanoseconds) {
  const timespec limit{0, nanoseconds};
  return syscall(SYS_futex, reinterpret_cast<const int*>(&word), FUTEX_WAIT, seen, &limit, nullptr,
                 0) == 0 ||
         word.load(std::memory_order_relaxed) != seen;
}

}  // namespace

WaitPolicy::WaitPolicy(World& world, std::span<const int> members, std::string_view operation)
    : world_(world), members_(members), operation_(operation) {}

void WaitPolicy::wake(std::atomic<int>& word) {
  syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void WaitPolicy::progress() {
  looks_ = 0;
  since_ = 0;
  doomed_ = 0;
}

// Gives the core away. Where others hold it for long, a yield costs their whole time slice while a
// sleeper is woken ahead of them: then the next waits sleep at once.
void WaitPolicy::give_way(double now) {
  std::atomic<int>& sleeps = world_.sleeps();
  if (sleeps.load(std::memory_order_relaxed) > 0) {
    sleeps.fetch_sub(1, std::memory_order_relaxed);
    doze(20);
  } else {
    sched_yield();
    if (seconds_now() - now > slow_yield) sleeps = sleeps_after_slow_yield;
  }
}

void WaitPolicy::pause(std::span<const int> open) {
  // The clock is read now and then only, while looks are quick and the core is ours.
  if (looks_ < short_looks && ++looks_ % 16 != 0 && !world_.crowded()) return;
  const double now = seconds_now();
  if (since_ == 0) since_ = now;
  const double waited = now - since_;
  if (waited < spin_seconds && !world_.crowded()) return;
  if (waited < yield_seconds) return give_way(now);
  doze(waited < 10 * yield_seconds ? 50 : 200);
  if (waited > notes_after && !open.empty()) check_silent_ranks(open, now);
}

void WaitPolicy::pause(std::span<const int> open, const std::atomic<int>& word, int seen) {
  const bool crowded = world_.crowded();
  if (!crowded && looks_ < short_looks && ++looks_ % 16 != 0) return;
  const double now = seconds_now();
  if (since_ == 0) since_ = now;
  const double waited = now - since_;
  if (!crowded && waited < spin_seconds) return;
  if (!crowded && waited < yield_seconds) return give_way(now);  // quicker than to be woken
  const bool longer = waited > notes_after;
  if (sleep_on(word, seen, longer ? long_nap_nanoseconds : nap_nanoseconds)) return;
  world_.read_notes();  // lets MPI do what it left for later
  if (!longer) return;
  looks_ = short_looks;
  if (!open.empty()) check_silent_ranks(open, now);
}

void WaitPolicy::check_silent_ranks(std::span<const int> open, double now) {
  const double waited = now - since_;
  if (doomed_ > 0 && now - doomed_ > doomed_seconds) throw CommError(verdict_);
  if (doomed_ > 0 || now - checked_ < (waited < processes_after ? notes_after : check_every))
    return;
  checked_ = now;
  world_.read_notes();
  stopped_.resize(members_.size(), 0);
  for (const int q : open) {
    const int rank = members_[static_cast<std::size_t>(q)];
    const Note said = world_.note(rank);
    if (waited < processes_after && !said.left && !said.lost) continue;
    const std::string why = why_silent(world_, rank, stopped_[static_cast<std::size_t>(q)]);
    if (why.empty()) continue;
    verdict_ = cat("waited for rank ", q, " in ", operation_, ": ", why);
    doomed_ = now;
    return;
  }
  if (const i64 limit = config().comm_timeout; limit > 0 && waited > static_cast<double>(limit))
    throw CommError(cat("waited for rank ", open.front(), " in ", operation_,
                        ": nothing came within ", limit, " seconds"));
}

}  // namespace tessera::mpi
