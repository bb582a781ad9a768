// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/boards.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "tessera/comm/mpi/process.hpp"
#include "tessera/comm/mpi/shared_file.hpp"

namespace tessera::mpi {
namespace {

static_assert(std::atomic<i64>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "boards are shared by processes");

constexpr const char* boards_name = "tessera-boards";
constexpr i64 whole_pages = 64 << 10;  // on every host

void wake(std::atomic<int>& word) {
  syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

struct Boards::Head {
  alignas(128) std::uint64_t word;
};

// Numbers that others write lie in lines of the cache of their own.
struct Boards::Seat {
  // How many have yet to tell this rank, in even and in odd rounds. Those who tell it before it
  // asks take the number below 0.
  struct Missing {
    alignas(128) std::atomic<int> ranks;
  } missing[2];
  alignas(128) std::atomic<i64> told;   // the last round in which this rank told others
  alignas(128) std::atomic<i64> ended;  // rounds
};

i64 Boards::heads_bytes(int ranks) {
  const i64 bytes = sizeof(Head) + ranks * static_cast<i64>(sizeof(Seat));
  return (bytes + whole_pages - 1) / whole_pages * whole_pages;
}

Boards::Head& Boards::head() const { return *reinterpret_cast<Head*>(start_); }
Boards::Seat& Boards::seat(int rank) const {
  return reinterpret_cast<Seat*>(start_ + sizeof(Head))[rank];
}

std::unique_ptr<Boards> Boards::make(int ranks, Place& place) {
  const int file = make_shared_file(boards_name, all_bytes(ranks));
  std::byte* start = map_shared(file, all_bytes(ranks));
  if (start == nullptr) {
    if (file >= 0) close(file);
    return nullptr;
  }
  static std::atomic<std::uint64_t> made = 0;
  const Process self = this_process();
  place = {self.id, file, (static_cast<std::uint64_t>(self.started) << 24) + ++made};
  std::unique_ptr<Boards> boards(new Boards(start, 0, ranks));
  boards->head().word = place.word;
  return boards;
}

std::unique_ptr<Boards> Boards::find(const Place& place, int rank, int ranks) {
  const int file = open_shared_file(boards_name, static_cast<pid_t>(place.process), place.file);
  std::byte* start = map_shared(file, all_bytes(ranks));
  if (file >= 0) close(file);
  if (start == nullptr) return nullptr;
  std::unique_ptr<Boards> boards(new Boards(start, rank, ranks));
  return boards->head().word == place.word ? std::move(boards) : nullptr;
}

Boards::~Boards() { munmap(start_, static_cast<std::size_t>(all_bytes(ranks_))); }

// The board was last written two rounds ago: everybody must have read it, and have heard whom it
// waited for.
void Boards::begin(Patience& patience) {
  ++round_;
  std::vector<int> slow;
  while (ended_ < round_ - 2) {
    i64 least = round_;
    slow.clear();
    for (int q = 0; q < ranks_; ++q) {
      const i64 ended = seat(q).ended.load(std::memory_order_acquire);
      least = std::min(least, ended);
      if (ended < round_ - 2) slow.push_back(q);
    }
    ended_ = least;
    if (!slow.empty()) patience.pause(slow);
  }
}

void Boards::tell(std::span<const int> listeners) {
  seat(rank_).told.store(round_, std::memory_order_release);
  for (const int q : listeners) {
    std::atomic<int>& missing = seat(q).missing[round_ % 2].ranks;
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) wake(missing);
  }
}

void Boards::hear(std::span<const int> speakers, Patience& patience) {
  const int count = static_cast<int>(speakers.size());
  std::atomic<int>& missing = seat(rank_).missing[round_ % 2].ranks;
  int left = missing.fetch_add(count, std::memory_order_acq_rel) + count;
  std::vector<int> silent;
  for (; left != 0; left = missing.load(std::memory_order_acquire)) {
    if (patience.long_wait()) {
      silent.clear();
      for (const int q : speakers)
        if (seat(q).told.load(std::memory_order_relaxed) < round_) silent.push_back(q);
    }
    patience.pause(silent, missing, left);
  }
  // Who tells all others has come to this round, and so has ended those before it.
  if (count == ranks_ - 1) ended_ = round_ - 1;
}

void Boards::end() { seat(rank_).ended.store(round_, std::memory_order_release); }

}  // namespace tessera::mpi
