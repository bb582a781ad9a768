// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/slot.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "tessera/comm/mpi/past_cache.hpp"
#include "tessera/comm/mpi/shared_file.hpp"

namespace tessera::mpi {
namespace {

static_assert(std::atomic<i64>::is_always_lock_free, "slots are shared by processes");

constexpr i64 slots = 64, counts_bytes = 64 << 10;  // whole pages on every host
static_assert(slots * static_cast<i64>(sizeof(Slot::Counts)) <= counts_bytes);
constexpr i64 all_bytes = counts_bytes + slots * Slot::bytes;
constexpr const char* slots_name = "tessera-slots";

Slot slot_in(std::byte* start, i64 number) {
  return {reinterpret_cast<Slot::Counts*>(start) + number,
          start + counts_bytes + number * Slot::bytes};
}

// The slots of this process. Memory comes with the first use of a slot.
struct Own {
  int file = -1;
  std::byte* start = nullptr;
  std::vector<i64> free;
  std::mutex mutex;

  Own() : file(make_shared_file(slots_name, all_bytes)), start(map_shared(file, all_bytes)) {
    for (i64 k = slots; start != nullptr && k > 0; --k) free.push_back(k - 1);
  }
};
Own& own() {
  static auto* o = new Own;  // outlives the groups of static objects
  return *o;
}

// Those of another one, seen until this process ends.
std::byte* slots_of(pid_t process, i64 file) {
  static auto& found = *new FoundOf<std::byte*>;
  return found(process, [&] {
    const int opened = open_shared_file(slots_name, process, file);
    std::byte* const start = map_shared(opened, all_bytes);
    if (opened >= 0) close(opened);
    return start;
  });
}

}  // namespace

SlotWriter::SlotWriter(const Block& block) : walk_(block) {
  Own& o = own();
  {
    const std::lock_guard lock(o.mutex);
    if (o.free.empty()) return;
    place_ = {o.file, o.free.back()};
    o.free.pop_back();
  }
  slot_ = slot_in(o.start, place_.number);
  slot_.counts->filled.store(0, std::memory_order_relaxed);
  slot_.counts->emptied.store(0, std::memory_order_relaxed);
}

SlotWriter::~SlotWriter() {
  if (slot_.data == nullptr) return;
  Own& o = own();
  const std::lock_guard lock(o.mutex);
  o.free.push_back(place_.number);
}

bool SlotWriter::done() const {
  return walk_.left() == 0 && slot_.counts->emptied.load(std::memory_order_acquire) == filled_;
}

bool SlotWriter::advance() {
  if (walk_.left() == 0 || slot_.counts->emptied.load(std::memory_order_acquire) != filled_)
    return false;
  walk_.pack(slot_.data, std::min(walk_.left(), Slot::bytes));
  slot_.counts->filled.store(++filled_, std::memory_order_release);
  return true;
}

SlotReader::SlotReader(pid_t process, const SlotPlace& place, const Block& block)
    : walk_(block), past_cache_(walk_.contiguous() && walk_.left() >= past_cache_bytes) {
  if (std::byte* start = slots_of(process, place.file)) slot_ = slot_in(start, place.number);
}

bool SlotReader::advance() {
  if (slot_.counts->filled.load(std::memory_order_acquire) == emptied_) return false;
  const i64 bytes = std::min(walk_.left(), Slot::bytes);
  if (past_cache_) {
    const std::span<std::byte> to = walk_.next(bytes);
    copy_past_cache(to.data(), slot_.data, to.size());
  } else {
    walk_.unpack(slot_.data, bytes);
  }
  slot_.counts->emptied.store(++emptied_, std::memory_order_release);
  return true;
}

}  // namespace tessera::mpi
