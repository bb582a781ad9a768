// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that the ranks of one machine share, given by MPI (MPI_Win_allocate_shared): a segment of
// each rank that all of them read and write. It is made once, when the ranks meet, and lasts as
// long as the process, because freeing a window is a collective call that blocks. Ranks take
// parts of their own segments; the offsets of those travel in messages.
//   const i64 offset = window.take(bytes);   std::byte* there = window.at(rank, offset);

#include <mpi.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera::mpi {

class SharedWindow {
 public:
  // Collective over `all`. nullptr where this rank does not want one, is the only one of its
  // machine, or MPI has none to give. A rank is reached by all that it reaches.
  static SharedWindow* make(MPI_Comm all, bool wanted);
  ~SharedWindow() = delete;
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  // Ranks of `all`.
  bool reaches(int rank) const { return segments_[static_cast<std::size_t>(rank)] != nullptr; }
  bool reaches(std::span<const int> ranks) const;
  std::byte* at(int rank, i64 offset) const {
    return segments_[static_cast<std::size_t>(rank)] + offset;
  }

  // A part of this rank's segment, at a multiple of 4 KiB; -1 where there is none so large.
  i64 take(i64 bytes);
  void give(i64 offset);
  // The part is free once `users` of it, which is inside of it, has come down to 0.
  void give_when_unused(i64 offset, const std::atomic<int>& users);

 private:
  SharedWindow(std::vector<std::byte*> segments, i64 bytes);
  void give_locked(i64 offset);

  std::vector<std::byte*> segments_;  // of the ranks of `all`; nullptr: on another machine
  std::mutex mutex_;                  // of what follows
  std::map<i64, i64> free_, taken_;   // bytes by offset
  std::vector<std::pair<i64, const std::atomic<int>*>> leaving_;
};

}  // namespace tessera::mpi
