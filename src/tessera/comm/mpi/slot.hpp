// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks of short runs between ranks of one machine: the sender packs a piece into a slot of memory
// that both see, the receiver unpacks it while it is in the cache, and both say so in the slot. No
// call of the kernel and no message for a piece. The slots of a process are a file without a name,
// so that nothing is left behind however a process ends.
//   SlotWriter writer(block);   if (writer) while (!writer.done()) writer.advance();

#include <sys/types.h>

#include <atomic>

#include "tessera/comm/block.hpp"

namespace tessera::mpi {

struct Slot {
  static constexpr i64 bytes = 512 << 10;
  // Pieces that were put in, and taken out, of the present block: one more line of the cache each.
  struct Counts {
    alignas(128) std::atomic<i64> filled;
    alignas(128) std::atomic<i64> emptied;
  };
  Counts* counts = nullptr;
  std::byte* data = nullptr;
};

// Where a slot is, for other processes.
struct SlotPlace {
  i64 file = -1, number = 0;
};

class SlotWriter {
 public:
  // Holds a slot of this process; none where all are taken, or the system gives no memory.
  explicit SlotWriter(const Block& block);
  ~SlotWriter();
  SlotWriter(const SlotWriter&) = delete;
  SlotWriter& operator=(const SlotWriter&) = delete;
  explicit operator bool() const { return slot_.data != nullptr; }
  SlotPlace place() const { return place_; }
  // Puts the next piece in where the last one was taken out; whether it did.
  bool advance();
  // Whether the receiver has begun, and whether it has everything.
  bool met() const { return slot_.counts->emptied.load(std::memory_order_acquire) > 0; }
  bool done() const;
  // The slot is never used again: the receiver may still be at it.
  void abandon() { slot_ = {}; }

 private:
  Slot slot_;
  SlotPlace place_;
  BlockWalk walk_;
  i64 filled_ = 0;
};

class SlotReader {
 public:
  // None where the slots of that process cannot be seen.
  SlotReader(pid_t process, const SlotPlace& place, const Block& block);
  explicit operator bool() const { return slot_.data != nullptr; }
  bool advance();
  bool done() const { return walk_.left() == 0; }

 private:
  Slot slot_;
  BlockWalk walk_;
  bool past_cache_;  // nobody will find so large a block in the cache
  i64 emptied_ = 0;
};

}  // namespace tessera::mpi
