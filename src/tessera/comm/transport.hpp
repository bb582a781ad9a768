// SPDX-License-Identifier: Apache-2.0
#pragma once
// How ranks talk: the second of the four virtual seams. A transport moves bytes of host memory
// between the ranks of one group; what the bytes mean is the business of distributed/. Every call
// is made by all ranks of the group in the same order, except exchange(), which concerns only the
// ranks that it names. A call that cannot end (a rank has ended, stopped or stays silent beyond
// config().comm_timeout) throws CommError on every rank that waits; after that the group is lost.
//   struct ThreadTransport : Transport { ... };   Communicator comm(std::move(transport));

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/dtype.hpp"
#include "tessera/base/shape.hpp"
#include "tessera/device/device.hpp"

namespace tessera {

struct DeviceLane;

// A block of host memory that goes to, or comes from, one rank: any strided layout over elements of
// `item` bytes. `first` is the address of element 0 of the layout's storage (its offset counts).
struct Block {
  int rank = 0;
  std::byte* first = nullptr;
  i64 item = 1;
  Layout layout;
  i64 bytes() const { return layout.size() * item; }
  static Block dense(int rank, const void* data, i64 bytes) {
    return {rank, static_cast<std::byte*>(const_cast<void*>(data)), 1, Layout::contiguous({bytes})};
  }
};

enum class Combine : std::uint8_t { sum, prod, min, max, logical_and, logical_or };

class TESSERA_API Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;  // "self", "threads", "mpi"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends and receives that belong together; both sides know the bytes. At most one block per pair
  // of ranks and direction; blocks with this rank itself are copies. Returns when all are done and
  // the memory may be used again. Blocks of more than 2^31 bytes are allowed, blocks of no bytes
  // are not sent. A send may wait for its receive: both belong into exchanges that can meet.
  virtual void exchange(std::span<const Block> sends, std::span<const Block> receives) = 0;

  // Called by all ranks, for dense blocks of a few bytes whose lengths only their senders know: a
  // block of receives is room, `lengths` says how much of it came, 0 where its rank had nothing to
  // say. None with this rank itself. Between machines the number of messages does not grow with
  // that of the blocks.
  static constexpr i64 short_bytes = 64 << 10;
  virtual void exchange_short(std::span<const Block> sends, std::span<const Block> receives,
                              std::span<i64> lengths);

  // Collectives over all ranks; counts in bytes. The defaults are made of exchange().
  virtual void barrier();
  virtual void broadcast(void* data, i64 bytes, int root);
  virtual void allgather(const void* mine, i64 bytes, void* all);  // equal shares
  virtual void allgather(const void* mine, std::span<const i64> bytes, void* all);
  virtual void alltoall(const void* sends, i64 bytes_each, void* receives);
  virtual void allreduce(void* data, i64 count, DType dtype, Combine op);
  // data = combination of the ranks before this one; rank 0 gets zeros.
  virtual void exclusive_scan(void* data, i64 count, DType dtype, Combine op);

  // A group of the ranks that gave the same colour, ordered by (key, rank).
  virtual std::unique_ptr<Transport> split(int colour, int key) = 0;

  // A way between the memories of devices of this kind (the same on all ranks) that does without
  // the host; nullptr on all ranks or on none. It may refer to this transport. The default asks the
  // plug-in of the kind.
  virtual std::unique_ptr<DeviceLane> lane(Device device);

  // This rank will not come to another call: ranks that wait for it end with a CommError that says
  // why, and so does the process when it ends. Not collective.
  virtual void give_up(const std::string& why) { (void)why; }

  // The operation that errors name ("waited for rank 2 in alltoall"): set by the Communicator.
  void doing(std::string_view operation) { operation_ = operation; }

 protected:
  std::string_view operation_ = "exchange";
};

}  // namespace tessera
