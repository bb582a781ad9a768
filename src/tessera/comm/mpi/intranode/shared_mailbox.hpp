// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short messages between the ranks of a group on one machine: each rank has a slot in the shared
// window that all of them see. In a round, which all ranks make in the same order, a rank writes
// its slot, posts it to those who are to read it, and sleeps until everybody whom it waits for has
// posted: it is woken once, by the last of them, which is what counts where ranks share cores.
// Slots hold two messages, so that nobody waits for slow readers of the last round.
//   mailbox.begin(wait);   memcpy(mailbox.own(), ...);   mailbox.post(others);
//   mailbox.await(others, wait);   memcpy(..., mailbox.of(q), ...);   mailbox.end();

#include <span>
#include <vector>

#include "tessera/comm/mpi/intranode/shared_window.hpp"
#include "tessera/comm/mpi/wait_policy.hpp"

namespace tessera::mpi {

class SharedMailbox {
 public:
  static constexpr int most_ranks = 64;
  static constexpr i64 room = 64 << 10;  // bytes of a message

  // The slot of this rank in the window: what the others have to know; -1 where there is no room.
  static i64 take_slot(SharedWindow& window, int rank_in_world, int ranks);
  // members[r]: the world's rank of rank r of the group; offsets[r]: its slot.
  SharedMailbox(SharedWindow& window, std::span<const int> members, std::span<const i64> offsets,
                int rank);
  ~SharedMailbox();
  SharedMailbox(const SharedMailbox&) = delete;
  SharedMailbox& operator=(const SharedMailbox&) = delete;

  void begin(WaitPolicy& wait);
  std::byte* own() { return message(rank_); }
  void post(std::span<const int> readers);  // each of them waits for this rank in this round
  void await(std::span<const int> writers, WaitPolicy& wait);
  const std::byte* of(int rank) const { return message(rank); }
  void end();

 private:
  struct Slot;
  Slot& slot(int rank) const { return *slots_[static_cast<std::size_t>(rank)]; }
  std::byte* message(int rank) const;

  SharedWindow& window_;
  std::vector<Slot*> slots_;
  i64 offset_;
  int rank_, ranks_;
  i64 round_ = 0;
  i64 ended_ = 0;  // rounds that all ranks are known to have ended
};

}  // namespace tessera::mpi
