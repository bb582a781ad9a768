// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/pool.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/cpu/cpu_device.hpp"
#include "tessera/device/host_limits.hpp"

namespace tessera {
namespace {

constexpr i64 unit = 64;         // bytes: the smallest block, and the alignment of all
constexpr int search_depth = 8;  // cached blocks looked at before the device is asked
constexpr int poison_byte = 0xFF;

bool ready(const std::vector<Event>& events) {
  return std::all_of(events.begin(), events.end(), [](const Event& e) { return e.done(); });
}

void wait_all(const std::vector<Event>& events) noexcept {
  for (const Event& e : events) try {
      e.wait();
    } catch (...) {
      // Failed work is over too; its stream keeps the failure for those who ask.
    }
}

}  // namespace

int class_above(i64 bytes) {
  const i64 units = std::max<i64>((bytes + unit - 1) / unit, 1);
  if (units <= 8) return static_cast<int>(units - 1);
  const int k =
      std::bit_width(static_cast<std::uint64_t>(units - 1)) - 1;  // 2^k < units <= 2^(k+1)
  const i64 step = i64{1} << (k - 3);
  const i64 j = (units - (i64{1} << k) + step - 1) / step;
  return static_cast<int>(8 * (k - 2) + j - 1);
}

i64 class_bytes(int size_class) {
  if (size_class < 8) return unit * (size_class + 1);
  const int k = size_class / 8 + 2, j = size_class % 8 + 1;
  return unit * ((i64{1} << k) + j * (i64{1} << (k - 3)));
}

int class_below(i64 bytes) {
  const int above = class_above(bytes);
  return class_bytes(above) > bytes ? above - 1 : above;
}

void Budget::charge(i64 bytes) {
  i64 missing = try_charge(bytes);
  // Asked as long as it helps: others may take what was let go. More than the limit never fits.
  while (missing > 0 && bytes <= limit() && ask_to_let_go(device_, how_, missing))
    missing = try_charge(bytes);
  if (missing == 0) [[likely]]
    return;
  const i64 most = limit();
  throw OutOfMemory(cat(owner_, ": cannot allocate ", bytes_text(bytes), ": ",
                        bytes_text(most - bytes + missing), " of the budget of ", bytes_text(most),
                        " are in use; free arrays or raise the budget (set_memory_budget)"));
}

i64 Budget::try_charge(i64 bytes) {
  const i64 now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (const i64 most = limit(); most > 0 && now > most && bytes > 0) [[unlikely]] {
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    return now - most;
  }
  i64 peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return 0;
}

void Budget::set_limit(i64 bytes) {
  require<ArgumentError>(bytes >= 0 || bytes == config_decides, "budget of ", owner_, ": ", bytes,
                         " bytes; expected a positive number, or 0 for no limit");
  set_.store(bytes);
}

MemoryStats Budget::stats() const {
  return {in_use_.load(), peak_.load(), reserved_.load(), limit()};
}

Pool::Pool(ComputeDevice& backend, int index, bool pinned, Budget& budget)
    : backend_(backend),
      index_(index),
      pinned_(pinned),
      host_(backend.host_memory()),
      budget_(budget) {}

i64 Pool::cache_limit() const {
  if (!host_) return std::numeric_limits<i64>::max();
  static const i64 share = std::max<i64>(host_memory_total() / 8, i64{64} << 20);
  const i64 used = budget_.in_use();
  return std::clamp(used + used / 8, idle_bytes, share);  // as blocks are rounded up
}

void Pool::admit(i64 bytes) {
  check_may_allocate(bytes);
  require<ArgumentError>(bytes >= 0, budget_.owner(), ": cannot allocate ", bytes, " bytes");
  if (bytes >= i64{1} << 60) [[unlikely]]  // no require: the text of the bytes takes a while
    throw OutOfMemory(cat(budget_.owner(), ": cannot allocate ", bytes_text(bytes),
                          ": more than any device holds"));
  collect_deferred();
  budget_.charge(bytes);
}

// Memory of the sim devices and pinned memory are the host's, too.
bool Pool::memory_let_go(i64 missing) {
  if ((host_ || pinned_) && missing > host_memory_total()) return false;
  const Device device{backend_.kind(), static_cast<std::int16_t>(index_)};
  const bool own =
      ask_to_let_go(host_ ? cpu : device, pinned_ ? Held::pinned : Held::on_device, missing);
  if (!own && !ask_to_let_go(cpu, Held::on_device, missing)) return false;
  trim();
  if (!own) device_pool(cpu).trim();
  return true;
}

Pool::Block Pool::take(i64 bytes, const Stream* home) {
  admit(bytes);
  Block block;
  try {
    if (!reuse(bytes, home ? home->id() : 0, block)) block = fresh(bytes, Contents::anything);
    if (config().poison) poison(block, home);
  } catch (...) {
    if (block.data)
      give(block, bytes, home, {});
    else
      budget_.refund(bytes);
    throw;
  }
  return block;
}

Pool::Block Pool::take_zeroed(i64 bytes) {
  const bool lazily = bytes >= large_request && !config().poison;
  if (!lazily) {
    const Block block = take(bytes, nullptr);
    std::memset(block.data, 0, static_cast<std::size_t>(bytes));
    return block;
  }
  admit(bytes);
  try {
    // A cached block holds what was written to it: exchanged for pages that nobody has touched.
    if (Block cached; reuse(bytes, 0, cached)) raw_release(cached);
    return fresh(bytes, Contents::zeros);
  } catch (...) {
    budget_.refund(bytes);
    throw;
  }
}

void Pool::poison(Block block, const Stream* home) {
  if (home)
    home->fill(block.data, poison_byte, block.bytes);
  else
    std::memset(block.data, poison_byte, static_cast<std::size_t>(block.bytes));
}

bool Pool::reuse(i64 bytes, i64 home, Block& block) {
  const int above = class_above(bytes);
  std::lock_guard lock(mutex_);
  // Blocks of exactly this size, if not a size of a class, lie in the class below.
  for (int c = above; c >= std::max(above - 1, 0); --c) {
    std::vector<Cached>& list = free_[static_cast<std::size_t>(c)];
    int looked = 0;
    for (auto it = list.rbegin(); it != list.rend() && looked < search_depth; ++it, ++looked) {
      if (it->block.bytes < bytes || (it->home != home && it->home != 0) || !ready(it->pending))
        continue;
      block = it->block;
      cached_bytes_ -= block.bytes;
      last_use_[static_cast<std::size_t>(c)] = ++turns_;
      *it = std::move(list.back());
      list.pop_back();
      return true;
    }
  }
  return false;
}

Pool::Block Pool::fresh(i64 bytes, Contents contents) {
  const i64 exact = std::max(unit, (bytes + unit - 1) / unit * unit), limit = budget_.limit();
  // Under a budget nothing is rounded up: what it promises to hold must fit.
  const i64 size = limit > 0 ? exact : class_bytes(class_above(bytes));
  if (limit > 0 && budget_.reserved() + size > limit) trim();
  try {
    return {raw_allocate(size, contents), size};
  } catch (const OutOfMemory&) {
    trim();
  }
  while (true) try {
      return {raw_allocate(exact, contents), exact};
    } catch (const OutOfMemory& e) {
      if (memory_let_go(exact)) continue;
      const MemoryStats s = budget_.stats();
      throw OutOfMemory(cat(budget_.owner(), ": cannot allocate ", bytes_text(bytes), ": ",
                            bytes_text(s.in_use - bytes),
                            " are in use and the device has no more (", e.what(), ")"));
    }
}

void* Pool::raw_allocate(i64 bytes, Contents contents) {
  void* p = contents == Contents::zeros ? allocate_zeroed_host(bytes) : nullptr;
  const bool dirty = p == nullptr && contents == Contents::zeros;
  if (p == nullptr)
    p = pinned_ ? backend_.allocate_pinned(bytes) : backend_.allocate(index_, bytes);
  if (dirty) std::memset(p, 0, static_cast<std::size_t>(bytes));
  budget_.reserve(bytes);
  count(Counter::allocations);
  count(Counter::allocated_bytes, bytes);
  return p;
}

void Pool::raw_release(Block block) noexcept {
  if (pinned_)
    backend_.release_pinned(block.data, block.bytes);
  else
    backend_.release(index_, block.data, block.bytes);
  budget_.reserve(-block.bytes);
}

void Pool::give(Block block, i64 asked, const Stream* home,
                std::span<const Stream> used_by) noexcept {
  Cached cached{block, home ? home->id() : 0, {}};
  for (const Stream& stream : used_by) try {
      Event event = stream.record();
      if (!event.done()) cached.pending.push_back(std::move(event));
    } catch (...) {
      // A stream that takes no more work (device lost): wait until it has dropped what it had.
      try {
        stream.sync();
      } catch (...) {
      }
    }
  if (config().poison && cached.pending.empty()) try {
      poison(block, home);
    } catch (...) {
      // A lost device: there is nothing left to protect from stale reads.
    }
  budget_.refund(asked);
  const i64 most = cache_limit();
  if (block.bytes > most) {
    wait_all(cached.pending);
    raw_release(block);
  } else {
    std::lock_guard lock(mutex_);
    cached_bytes_ += block.bytes;
    const auto size_class = static_cast<std::size_t>(class_below(block.bytes));
    last_use_[size_class] = ++turns_;
    free_[size_class].push_back(std::move(cached));
  }
  if (this->cached() > most) trim_to(most);
}

void Pool::trim_to(i64 bytes) {
  std::vector<Cached> all;
  {
    std::lock_guard lock(mutex_);
    std::vector<std::size_t> classes;
    for (std::size_t c = 0; c < free_.size(); ++c)
      if (!free_[c].empty()) classes.push_back(c);
    std::ranges::sort(classes, {}, [this](std::size_t c) { return last_use_[c]; });
    for (const std::size_t c : classes)
      for (auto& list = free_[c]; !list.empty() && cached_bytes_ > bytes; list.pop_back()) {
        cached_bytes_ -= list.back().block.bytes;
        all.push_back(std::move(list.back()));
      }
  }
  // Without the lock: the work that is waited for may itself free storages of this pool.
  for (const Cached& cached : all) {
    wait_all(cached.pending);
    raw_release(cached.block);
  }
}

void Pool::stream_ended(i64 id) {
  std::lock_guard lock(mutex_);
  for (auto& list : free_)
    for (Cached& cached : list)
      if (cached.home == id) cached.home = 0;
}

}  // namespace tessera
