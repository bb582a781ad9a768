// SPDX-License-Identifier: Apache-2.0
#pragma once
// Behind Storage: one caching pool of blocks per device and one of pinned host memory per kind. A
// freed block belongs to the stream that it was allocated for and is handed out again at once to
// that stream; to others when that stream has ended. Streams named by record_stream must first pass
// the point at which the block was freed. Sizes are rounded up to classes (12.5 % apart); a request
// that does not fit gives the cached blocks back and asks the device for exactly what it needs. Of
// the host no more is kept than is in use, or idle_bytes where that is more: what a program has
// deleted goes back to the system. Not for users: see memory.hpp.
//   Pool& pool = device_pool(cpu);   Pool::Block b = pool.take(4096, nullptr);

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "tessera/device/memory.hpp"
#include "tessera/device/storage.hpp"
#include "tessera/device/stream.hpp"

namespace tessera {

inline constexpr int max_devices = 64;            // of one kind
inline constexpr i64 idle_bytes = i64{32} << 20;  // of the host: cached in any case

// Bytes in use against a limit. The limit is the one that was set, else that of the config.
class Budget {
 public:
  Budget(std::string owner, i64 (*configured)(Device), Device device, Held how)
      : owner_(std::move(owner)), configured_(configured), device_(device), how_(how) {}
  // Asks others to let go where the limit forbids it; then OutOfMemory, and nothing is charged.
  void charge(i64 bytes);
  i64 try_charge(i64 bytes);  // 0, or the bytes that are missing; nothing is charged then
  void refund(i64 bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }
  void reserve(i64 bytes) { reserved_.fetch_add(bytes, std::memory_order_relaxed); }
  i64 in_use() const { return in_use_.load(std::memory_order_relaxed); }
  i64 reserved() const { return reserved_.load(std::memory_order_relaxed); }
  i64 limit() const {
    const i64 set = set_.load(std::memory_order_relaxed);
    return set >= 0 ? set : configured_(device_);
  }
  i64 limit_set() const { return set_.load(std::memory_order_relaxed); }
  void set_limit(i64 bytes);
  void reset_peak() { peak_.store(in_use_.load()); }
  MemoryStats stats() const;
  const std::string& owner() const { return owner_; }

 private:
  std::string owner_;  // "sim:0", "pinned memory"
  i64 (*configured_)(Device);
  Device device_;
  Held how_;
  std::atomic<i64> in_use_{0}, peak_{0}, reserved_{0}, set_{config_decides};
};

class Pool {
 public:
  struct Block {
    void* data = nullptr;
    i64 bytes = 0;  // what the device gave: at least what was asked
  };
  Pool(ComputeDevice& backend, int index, bool pinned, Budget& budget);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // `home` is null for memory of the host. Throws OutOfMemory with a sentence.
  Block take(i64 bytes, const Stream* home);
  // Memory of the host that holds zeros; of a large block no page is touched for that.
  Block take_zeroed(i64 bytes);
  // `asked` is what take() was called with; `used_by` the streams besides `home` that may still use
  // it.
  void give(Block block, i64 asked, const Stream* home, std::span<const Stream> used_by) noexcept;
  void trim() { trim_to(0); }
  // Gives blocks back until no more than that are cached, first of sizes that were long not asked.
  void trim_to(i64 bytes);
  i64 cached() const { return cached_bytes_.load(std::memory_order_relaxed); }
  void stream_ended(i64 id);
  Budget& budget() { return budget_; }

 private:
  struct Cached {
    Block block;
    i64 home = 0;                // id of its stream; 0: anybody's
    std::vector<Event> pending;  // of other streams: to be done before the block is used again
  };
  static constexpr int class_count = 480;

  enum class Contents : std::uint8_t { anything, zeros };
  void admit(i64 bytes);            // what is asked of every request; charges the budget
  bool memory_let_go(i64 missing);  // by others, for a request that the device refused
  bool reuse(i64 bytes, i64 home, Block& block);
  Block fresh(i64 bytes, Contents contents);
  void* raw_allocate(i64 bytes, Contents contents);
  void raw_release(Block block) noexcept;
  static void poison(Block block, const Stream* home);

  ComputeDevice& backend_;
  const int index_;
  const bool pinned_;
  i64 cache_limit() const;  // bytes; device memory is cached without limit
  const bool host_;
  Budget& budget_;
  std::mutex mutex_;
  std::atomic<i64> cached_bytes_{0};  // changed under the lock
  std::array<std::vector<Cached>, class_count> free_;
  std::array<i64, class_count> last_use_{};  // of a class, in turns
  i64 turns_ = 0;
};

Pool& device_pool(Device device);  // DeviceError for a device that is not there
Pool& pinned_pool(Kind kind);
Budget& host_budget();
// Memory of the host that holds zeros, from its pool: pages of a large one are not there before
// they are used.
TESSERA_API Storage zeroed_storage(i64 bytes);
// The work of a stream is over: its cached blocks are anybody's.
void stream_ended(Device device, i64 id);

// Things that may go only after events of other streams: kept here, let go by a later
// collect_deferred().
void release_after(std::vector<Event> events, std::function<void()> release);
void collect_deferred();

// Asks whom set_let_go named; false where there is nobody.
bool ask_to_let_go(Device device, Held how, i64 missing);

// PlanError when this thread is inside a NoAllocation.
void check_may_allocate(i64 bytes);

// Sizes of the classes, for tests: the smallest class that holds `bytes`, the largest that `bytes`
// hold.
TESSERA_API int class_above(i64 bytes);
TESSERA_API int class_below(i64 bytes);
TESSERA_API i64 class_bytes(int size_class);

}  // namespace tessera
