// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who stays in which tier. A Block is memory that may be elsewhere while nobody uses it: its home is
// a device, pinned memory or the host; where a budget (or the machine) has no more room there, the
// blocks that were used longest ago and are not leased go down a tier, device and pinned memory to
// the host, the host to disk, until the request fits. A lease brings a block home and keeps it
// there, at the same address, until it ends. Every request of memory makes room in this way, also
// that of an ordinary array: the governor is asked by the pools (device/memory.hpp). A block that
// came back from disk and was only read keeps its place there and leaves memory again without being
// written. Leases of one block are not ordered among each other: that two of them do not write at
// once is the callers' business, as with arrays. Safe from several threads; nobody waits for a
// lease to end: where all that is held is leased, OutOfMemory says so.
//   Block b = Block::make(64 << 20);                       // takes no memory yet
//   { Lease l = b.lease(Use::overwrite); fill(l.data()); }  // may be evicted from here on
//   Array a(b.lease(Use::read).storage(), Layout::contiguous({8 << 20}), DType::f64);

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/device/storage.hpp"

namespace tessera::store {

enum class Tier : std::uint8_t { device, pinned, host, disk, nowhere };  // nowhere: never written
TESSERA_API std::string_view tier_name(Tier tier);

// What a lease is for. read: the bytes stay as they are; write: they are changed; overwrite: all of
// them, so that nothing need be brought.
enum class Use : std::uint8_t { read, write, overwrite };

struct GovernorStats {
  i64 blocks = 0;
  std::array<i64, 4> held{};  // bytes by tier, each block where it is
  i64 leased = 0;             // bytes that are not evicted
  i64 copies = 0;             // bytes of blocks in memory that have their place on disk besides
  i64 spills = 0, promotions = 0;         // moves down, moves up
  i64 dropped = 0;                        // moves down to disk for which nothing was written
  i64 bytes_written = 0, bytes_read = 0;  // of the disk
  i64 bytes_moved = 0;                    // between memories
};
TESSERA_API GovernorStats governor_stats();
TESSERA_API void reset_governor_stats();  // the counts; not what is held
TESSERA_API std::string spill_path();     // the file of what is on disk; "" where nothing is

struct BlockEntry;

class TESSERA_API Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept : entry_(std::move(other.entry_)) {}
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { end(); }
  explicit operator bool() const { return entry_ != nullptr; }
  void* data() const;
  i64 bytes() const;
  Device device() const;
  // The same bytes as a storage that has a lease of its own: arrays over it keep the block where it
  // is, and streams that use them are waited for.
  Storage storage() const;
  void end() noexcept;

 private:
  friend class Block;
  explicit Lease(std::shared_ptr<BlockEntry> entry) : entry_(std::move(entry)) {}
  std::shared_ptr<BlockEntry> entry_;
};

class TESSERA_API Block {
 public:
  Block() = default;
  static Block make(i64 bytes, Device home = cpu);
  static Block pinned(Kind kind, i64 bytes);
  // Memory that is there already, and from now on the governor's: whoever else holds the storage
  // keeps its memory taken, and does not write to it.
  static Block adopt(Storage storage);

  explicit operator bool() const { return entry_ != nullptr; }
  // OutOfMemory where there is no room for it, IoError where it cannot be read; the block stays as
  // it is.
  Lease lease(Use use = Use::read) const;
  // To disk now. False: it is leased, or nothing was written to it.
  bool spill() const;
  void touch() const;  // counts as a use
  i64 bytes() const;
  Device home() const;
  Tier tier() const;
  bool leased() const;

 private:
  explicit Block(std::shared_ptr<BlockEntry> entry) : entry_(std::move(entry)) {}
  std::shared_ptr<BlockEntry> entry_;
};

}  // namespace tessera::store
