// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/intranode/shared_mailbox.hpp"

#include <algorithm>
#include <atomic>
#include <new>

namespace tessera::mpi {

static_assert(std::atomic<i64>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "mailboxes are shared by processes");

// Numbers that others write lie in lines of the cache of their own. The two messages follow.
struct SharedMailbox::Slot {
  // How many have yet to post to this rank, in even and in odd rounds. Those who post before it
  // waits take the number below 0.
  struct Missing {
    alignas(128) std::atomic<int> ranks{0};
  } missing[2];
  alignas(128) std::atomic<i64> posted{0};  // the last round in which this rank posted
  alignas(128) std::atomic<i64> ended{0};   // rounds
  alignas(128) std::atomic<int> users;      // ranks that have not left the group
};

i64 SharedMailbox::take_slot(SharedWindow& window, int rank_in_world, int ranks) {
  const i64 offset = window.take(static_cast<i64>(sizeof(Slot)) + 2 * room);
  if (offset >= 0) (new (window.at(rank_in_world, offset)) Slot)->users = ranks;
  return offset;
}

SharedMailbox::SharedMailbox(SharedWindow& window, std::span<const int> members,
                             std::span<const i64> offsets, int rank)
    : window_(window),
      offset_(offsets[static_cast<std::size_t>(rank)]),
      rank_(rank),
      ranks_(static_cast<int>(members.size())) {
  for (std::size_t q = 0; q < members.size(); ++q)
    slots_.push_back(reinterpret_cast<Slot*>(window.at(members[q], offsets[q])));
}

// A slow rank may still read what this one wrote last.
SharedMailbox::~SharedMailbox() {
  for (Slot* slot : slots_) slot->users.fetch_sub(1, std::memory_order_acq_rel);
  window_.give_when_unused(offset_, slot(rank_).users);
}

std::byte* SharedMailbox::message(int rank) const {
  return reinterpret_cast<std::byte*>(&slot(rank) + 1) + round_ % 2 * room;
}

// The message was last written two rounds ago: everybody must have read it, and have seen all that
// it waited for.
void SharedMailbox::begin(WaitPolicy& wait) {
  ++round_;
  std::vector<int> slow;
  while (ended_ < round_ - 2) {
    i64 least = round_;
    slow.clear();
    for (int q = 0; q < ranks_; ++q) {
      const i64 ended = slot(q).ended.load(std::memory_order_acquire);
      least = std::min(least, ended);
      if (ended < round_ - 2) slow.push_back(q);
    }
    ended_ = least;
    if (!slow.empty()) wait.pause(slow);
  }
}

void SharedMailbox::post(std::span<const int> readers) {
  slot(rank_).posted.store(round_, std::memory_order_release);
  for (const int q : readers) {
    std::atomic<int>& missing = slot(q).missing[round_ % 2].ranks;
    if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) WaitPolicy::wake(missing);
  }
}

void SharedMailbox::await(std::span<const int> writers, WaitPolicy& wait) {
  const int count = static_cast<int>(writers.size());
  std::atomic<int>& missing = slot(rank_).missing[round_ % 2].ranks;
  int left = missing.fetch_add(count, std::memory_order_acq_rel) + count;
  std::vector<int> silent;
  for (; left != 0; left = missing.load(std::memory_order_acquire)) {
    if (wait.long_wait()) {
      silent.clear();
      for (const int q : writers)
        if (slot(q).posted.load(std::memory_order_relaxed) < round_) silent.push_back(q);
    }
    wait.pause(silent, missing, left);
  }
  // Who posts to all others has come to this round, and so has ended those before it.
  if (count == ranks_ - 1) ended_ = round_ - 1;
}

void SharedMailbox::end() { slot(rank_).ended.store(round_, std::memory_order_release); }

}  // namespace tessera::mpi
