// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pools and budgets: who may hold how many bytes where. Pools cache freed blocks per device
// (stream-ordered) and give them back to the device when a request would not fit otherwise. Arenas
// of plans are ordinary storages. People see this as memory_stats() and set_memory_budget().
//   set_memory_budget(Device::parse("sim:0"), 1 << 20);   MemoryStats s = memory_stats(cpu);

#include <limits>

#include "tessera/device/device.hpp"

namespace tessera {

struct MemoryStats {
  i64 in_use = 0;    // bytes held by storages
  i64 peak = 0;      // highest in_use since reset_peak
  i64 reserved = 0;  // bytes taken from the device, cached blocks included
  i64 budget = 0;    // 0 = none
};

TESSERA_API MemoryStats memory_stats(Device device);
TESSERA_API MemoryStats pinned_stats();
TESSERA_API void reset_peak(Device device);
// Bytes that storages of the device may hold in all; 0 = no limit. Does not evict what is held.
// config_decides takes back what was set: the budget is again that of the settings.
inline constexpr i64 config_decides = std::numeric_limits<i64>::min();
TESSERA_API void set_memory_budget(Device device, i64 bytes);
TESSERA_API void set_pinned_budget(i64 bytes);
// What was set, or config_decides: to be set again at the end of a scope.
TESSERA_API i64 memory_budget_set(Device device);
TESSERA_API i64 pinned_budget_set();
// Bytes that a share of 100% means.
TESSERA_API i64 memory_total(Device device);

// Who holds memory that could be elsewhere (store/tiers: blocks that go to disk) is asked before a
// request of a pool is refused, by the thread that asks, without locks. `missing`: bytes. True:
// something was let go, try again.
enum class Held : std::uint8_t { on_device, pinned };
using LetGo = bool (*)(Device device, Held how, i64 missing);
TESSERA_API void set_let_go(LetGo ask);
// Cached blocks go back to the device.
TESSERA_API void trim_pool(Device device);

// While one of these lives on any thread, an allocation from a pool by *this* thread is a
// PlanError: a run allocates nothing. Counted in counters().allocations too.
class TESSERA_API NoAllocation {
 public:
  NoAllocation();
  ~NoAllocation();
  NoAllocation(const NoAllocation&) = delete;
  NoAllocation& operator=(const NoAllocation&) = delete;
};

// Inside, allocations are fine again: for the caller's own code that a run calls.
class TESSERA_API AllocationAllowed {
 public:
  AllocationAllowed();
  ~AllocationAllowed();
  AllocationAllowed(const AllocationAllowed&) = delete;
  AllocationAllowed& operator=(const AllocationAllowed&) = delete;

 private:
  int depth_;
};

}  // namespace tessera
