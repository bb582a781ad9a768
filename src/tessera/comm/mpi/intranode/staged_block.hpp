// SPDX-License-Identifier: Apache-2.0
#pragma once
// Large blocks between ranks of one machine: the sender packs pieces into its part of the shared
// window, the receiver unpacks them while they are in the cache, and both count them there. One
// message of MPI says where; then there is no call of MPI and none of the kernel for a piece. Two
// pieces are under way, so that both sides copy at once.
//   StagedSend send(window, rank, block);   if (send) while (!send.done()) send.advance();

#include <atomic>

#include "tessera/comm/block.hpp"
#include "tessera/comm/mpi/intranode/shared_window.hpp"

namespace tessera::mpi {

// Where the pieces of a block are staged, for the receiver.
struct Staging {
  i64 offset = -1;  // in the segment of the sender; -1: not at all
  i64 piece = 0;    // bytes
};

struct PieceCounts;

class StagedSend {
 public:
  // Without a staging where this rank's segment has no room. `rank`: this one's, in the world.
  StagedSend(SharedWindow& window, int rank, const Block& block);
  ~StagedSend();
  StagedSend(const StagedSend&) = delete;
  StagedSend& operator=(const StagedSend&) = delete;
  explicit operator bool() const { return staging_.offset >= 0; }
  const Staging& staging() const { return staging_; }
  // Puts the next piece in where there is room for it; whether it did.
  bool advance();
  bool done() const;  // the receiver has everything
  // The part of the window is never used again: the receiver may still be at it.
  void abandon() { staging_.offset = -1; }

 private:
  SharedWindow& window_;
  Staging staging_;
  PieceCounts* counts_ = nullptr;
  BlockWalk walk_;
  i64 filled_ = 0;
};

class StagedReceive {
 public:
  StagedReceive(const SharedWindow& window, int rank, const Staging& staging, const Block& block);
  bool advance();
  bool done() const { return walk_.left() == 0; }

 private:
  PieceCounts* counts_;
  i64 piece_;
  BlockWalk walk_;
  bool past_cache_;  // nobody will find so large a block in the cache
  i64 emptied_ = 0;
};

}  // namespace tessera::mpi
