// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/memory.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

thread_local int no_allocation_depth = 0;
// Of all threads: mostly none, and then no thread looks further.
std::atomic<int> no_allocations{0};

// Of each device asked once, and only where a budget is a share of it.
i64 total_of(Device d) {
  static auto* totals = new std::array<std::array<std::atomic<i64>, max_devices>, kind_count>{};
  auto& kept = (*totals)[static_cast<std::size_t>(d.kind)][static_cast<std::size_t>(d.index)];
  if (kept.load() == 0) kept = compute_device(d).info(d.index).memory_total;
  return kept;
}

i64 configured_host(Device) {
  const i64 set = config().host_budget;
  return set >= 0 ? set : budget_bytes(set, total_of(cpu));
}
i64 configured_device(Device d) {
  const i64 set = config().device_budget;
  return set >= 0 ? set : budget_bytes(set, total_of(d));
}
i64 configured_pinned(Device) {
  static const i64 quarter = host_memory_total() / 4;
  const i64 set = config().pinned_budget;
  return set > 0 ? set : set == 0 ? quarter : budget_bytes(set, total_of(cpu));
}

struct DevicePool {
  Budget budget;
  Pool pool;
  explicit DevicePool(Device d)
      : budget(d.str(), d.kind == Kind::cpu ? configured_host : configured_device, d,
               Held::on_device),
        pool(compute_device(d), d.index, false, budget) {}
};

// Pools are made at the first use and never destroyed: storages may outlive statics.
using PoolTable = std::array<std::array<std::atomic<DevicePool*>, max_devices>, kind_count>;
PoolTable& pool_table() {
  static auto* table = new PoolTable{};
  return *table;
}

DevicePool& device_entry(Device d) {
  if (d.index < 0 || d.index >= max_devices) (void)compute_device(d);  // throws the sentence
  auto& entry = pool_table()[static_cast<std::size_t>(d.kind)][static_cast<std::size_t>(d.index)];
  if (DevicePool* found = entry.load(std::memory_order_acquire)) return *found;
  auto fresh = std::make_unique<DevicePool>(d);
  DevicePool* expected = nullptr;
  if (!entry.compare_exchange_strong(expected, fresh.get())) return *expected;
  return *fresh.release();
}

Budget& pinned_budget() {
  static auto* budget = new Budget("pinned host memory", configured_pinned, cpu, Held::pinned);
  return *budget;
}

std::atomic<LetGo> let_go{nullptr};

struct Deferred {
  std::mutex mutex;
  std::atomic<int> count{0};
  std::vector<std::pair<std::vector<Event>, std::function<void()>>> waiting;
};
Deferred& deferred() {
  static auto* list = new Deferred;
  return *list;
}

}  // namespace

Pool& device_pool(Device device) { return device_entry(device).pool; }
Budget& host_budget() {
  static Budget& budget = device_entry(cpu).budget;
  return budget;
}

Pool& pinned_pool(Kind kind) {
  static auto* table = new std::array<std::atomic<Pool*>, kind_count>{};
  auto& entry = (*table)[static_cast<std::size_t>(kind)];
  if (Pool* found = entry.load(std::memory_order_acquire)) return *found;
  auto fresh = std::make_unique<Pool>(compute_device(kind), 0, true, pinned_budget());
  Pool* expected = nullptr;
  if (!entry.compare_exchange_strong(expected, fresh.get())) return *expected;
  return *fresh.release();
}

Storage zeroed_storage(i64 bytes) {
  count(Counter::pool_requests);
  Pool& pool = device_pool(cpu);
  const Pool::Block block = pool.take_zeroed(bytes);
  return Storage::adopt(cpu, block.data, bytes,
                        [&pool, block, bytes] { pool.give(block, bytes, nullptr, {}); });
}

void stream_ended(Device device, i64 id) {
  auto& entry =
      pool_table()[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
  if (DevicePool* found = entry.load(std::memory_order_acquire)) found->pool.stream_ended(id);
}

void release_after(std::vector<Event> events, std::function<void()> release) {
  Deferred& d = deferred();
  std::lock_guard lock(d.mutex);
  d.waiting.emplace_back(std::move(events), std::move(release));
  d.count.store(static_cast<int>(d.waiting.size()), std::memory_order_relaxed);
}

void collect_deferred() {
  Deferred& d = deferred();
  if (d.count.load(std::memory_order_relaxed) == 0) return;
  std::vector<std::pair<std::vector<Event>, std::function<void()>>> ready;
  {
    std::lock_guard lock(d.mutex);
    auto pending = [](const auto& item) {
      return std::any_of(item.first.begin(), item.first.end(),
                         [](const Event& e) { return !e.done(); });
    };
    auto split = std::stable_partition(d.waiting.begin(), d.waiting.end(), pending);
    ready.assign(std::make_move_iterator(split), std::make_move_iterator(d.waiting.end()));
    d.waiting.erase(split, d.waiting.end());
    d.count.store(static_cast<int>(d.waiting.size()), std::memory_order_relaxed);
  }
  for (auto& item : ready) item.second();  // without the lock: a release may free storages
}

void check_may_allocate(i64 bytes) {
  if (no_allocations.load(std::memory_order_relaxed) == 0 || no_allocation_depth == 0) [[likely]]
    return;
  throw PlanError(cat("an allocation of ", bytes_text(bytes),
                      " was asked for inside a run; plans allocate before they run"));
}

NoAllocation::NoAllocation() {
  ++no_allocation_depth;
  no_allocations.fetch_add(1, std::memory_order_relaxed);
}
NoAllocation::~NoAllocation() {
  --no_allocation_depth;
  no_allocations.fetch_sub(1, std::memory_order_relaxed);
}
AllocationAllowed::AllocationAllowed() : depth_(no_allocation_depth) { no_allocation_depth = 0; }
AllocationAllowed::~AllocationAllowed() { no_allocation_depth = depth_; }

MemoryStats memory_stats(Device device) { return device_entry(device).budget.stats(); }
MemoryStats pinned_stats() { return pinned_budget().stats(); }
void reset_peak(Device device) { device_entry(device).budget.reset_peak(); }
void set_memory_budget(Device device, i64 bytes) { device_entry(device).budget.set_limit(bytes); }
void set_pinned_budget(i64 bytes) { pinned_budget().set_limit(bytes); }
i64 memory_budget_set(Device device) { return device_entry(device).budget.limit_set(); }
i64 pinned_budget_set() { return pinned_budget().limit_set(); }
i64 memory_total(Device device) {
  (void)device_entry(device);
  return total_of(device);
}
void set_let_go(LetGo ask) { let_go = ask; }
bool ask_to_let_go(Device device, Held how, i64 missing) {
  const LetGo ask = let_go.load(std::memory_order_acquire);
  return ask && ask(device, how, missing);
}
void trim_pool(Device device) {
  collect_deferred();
  device_entry(device).pool.trim();
}

}  // namespace tessera
