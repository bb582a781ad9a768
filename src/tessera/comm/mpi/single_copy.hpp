// SPDX-License-Identifier: Apache-2.0
#pragma once
// Large blocks between ranks of one machine: the sender tells where its bytes lie, the receiver
// copies them straight out of the sender's memory: with process_vm_readv, for which strides of both
// sides become lists of runs for the kernel, or as shared_copy.hpp does. Nothing is packed and
// nothing is copied twice.
//   RemoteRead read(offer, block);   while (!read.done()) read.step();

#include <sys/uio.h>

#include <optional>
#include <vector>

#include "tessera/comm/block.hpp"
#include "tessera/comm/mpi/slot.hpp"
#include "tessera/comm/mpi/world.hpp"
#include "tessera/device/cpu/shared_pages.hpp"

namespace tessera::mpi {

// What a sender says of a large block, as it travels; only the axes in use are sent.
struct Offer {
  static constexpr std::uint64_t word = 0x7465737365726122u;
  std::uint64_t magic = word;
  i64 bytes = 0;
  i64 load = 0;                     // bytes that the sender receives in the same exchange
  i64 process = 0;                  // 0: not to be read from memory, the bytes follow as a stream
  SlotPlace place;                  // where it has a file, the bytes come through that slot
  SharedPages::Place pages{-1, 0};  // where it has a file, `start` lies there and may be mapped
  std::byte* start = nullptr;
  i64 run = 0, ndim = 0;
  bool strided = false;
  BlockWalk::Axis axes[max_rank];

  // A block whose runs are long enough to be read one by one.
  static Offer of(const Block& block, i64 process);
  // A block of any runs that lies in pages which the other side may map; else nothing.
  static std::optional<Offer> shared(const Block& block, i64 process);
  static Offer through(const SlotPlace& place, const Block& block, i64 process);
  i64 wire_bytes() const;
};

class RemoteRead {
 public:
  RemoteRead(const Offer& offer, const Block& to);
  bool done() const { return left_ == 0; }
  // Copies the next few megabytes; 0, or the number of the error.
  int step();

 private:
  struct Side {  // runs of one side, cut where the other side's end
    BlockWalk walk;
    std::span<std::byte> rest;
    std::vector<iovec> runs;
    void refill();
    void take(i64 bytes);
  };
  int read(i64 bytes);

  pid_t process_;
  i64 left_;
  Side remote_, local_;
  BlockWalk target_;                   // where runs are short: bytes land in `room_` first
  std::unique_ptr<std::byte[]> room_;  // null: bytes land where they belong
};

}  // namespace tessera::mpi
