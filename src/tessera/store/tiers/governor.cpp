// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiers/governor.hpp"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/stream.hpp"
#include "tessera/store/tiers/spill_file.hpp"

namespace tessera::store {
namespace {

// Memory that is short together: that of a device, or all pinned memory.
using Place = std::pair<Device, Held>;

// Bytes that go between disk and a device at a time, beside every budget.
constexpr i64 bounce_bytes = i64{1} << 20;

}  // namespace

// All but the first three is guarded by the governor's mutex. While `moving`, the thread that moves
// owns memory and extent; nobody else looks at them.
struct BlockEntry : std::enable_shared_from_this<BlockEntry> {
  const i64 bytes;
  const Device home;
  const bool is_pinned;
  const Kind pinned_for;

  Tier tier = Tier::nowhere;
  Storage memory;  // where the tier is not the disk
  Extent extent;   // holds the same bytes; beside memory as long as those were only read
  int leases = 0;
  bool moving = false, listed = false;
  std::list<BlockEntry*>::iterator place;

  BlockEntry(i64 n, Device device, bool pinned, Kind kind)
      : bytes(n), home(device), is_pinned(pinned), pinned_for(kind) {}
  ~BlockEntry();
  Tier home_tier() const {
    return is_pinned ? Tier::pinned : home.kind == Kind::cpu ? Tier::host : Tier::device;
  }
  // Where its memory counts.
  Place where() const {
    if (tier == Tier::pinned) return {cpu, Held::pinned};
    return {tier == Tier::device ? home : cpu, Held::on_device};
  }
  Storage fresh_home() const {
    return is_pinned ? Storage::pinned(pinned_for, bytes) : Storage::allocate(home, bytes);
  }
};

namespace {

// Note [who waits for whom]
// No memory is asked for and nothing is read, written or freed under the mutex. A block that moves
// up asks for memory, for which others move down; it waits only for blocks that already move down.
// A block that moves down from a device asks for memory of the host, for which blocks of the host
// go to disk; those wait for nobody. So no two wait for each other.
class Governor {
 public:
  Governor() {
    set_let_go([](Device device, Held how, i64 missing) {
      return governor().let_go({device, how}, missing);
    });
  }
  static Governor& governor() {
    static auto* one = new Governor;  // never destroyed: blocks may outlive statics
    return *one;
  }

  void add(BlockEntry& e) {
    std::lock_guard lock(mutex_);
    ++stats_.blocks;
    if (e.tier == Tier::nowhere) return;
    held(e.tier) += e.bytes;
    list(e);
  }

  void remove(BlockEntry& e) {
    std::lock_guard lock(mutex_);
    unlist(e);
    --stats_.blocks;
    if (e.tier != Tier::nowhere) held(e.tier) -= e.bytes;
    if (e.extent && e.tier != Tier::disk) stats_.copies -= e.bytes;
  }

  void lease(BlockEntry& e, Use use) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return !e.moving; });
    if (e.tier != e.home_tier()) promote(lock, e, use);
    unlist(e);
    if (e.leases++ == 0) stats_.leased += e.bytes;
    if (use == Use::read || !e.extent) return;
    stats_.copies -= e.bytes;
    const Extent stale = std::exchange(e.extent, {});
    lock.unlock();  // before the disk has it back
  }

  void end_lease(BlockEntry& e) {
    std::lock_guard lock(mutex_);
    if (--e.leases > 0) return;
    stats_.leased -= e.bytes;
    list(e);
  }

  void again(BlockEntry& e) {  // a lease more of a block that is leased
    std::lock_guard lock(mutex_);
    ++e.leases;
  }

  void touch(BlockEntry& e) {
    std::lock_guard lock(mutex_);
    if (!e.listed) return;
    unlist(e);
    list(e);
  }

  bool spill(BlockEntry& e) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return !e.moving; });
    if (e.leases > 0 || e.tier == Tier::nowhere) return false;
    if (e.tier != Tier::disk) move_down(lock, e, true);
    return true;
  }

  bool let_go(Place place, i64 missing);

  Tier tier(const BlockEntry& e) {
    std::lock_guard lock(mutex_);
    return e.tier;
  }
  bool leased(const BlockEntry& e) {
    std::lock_guard lock(mutex_);
    return e.leases > 0;
  }
  GovernorStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset() {
    std::lock_guard lock(mutex_);
    GovernorStats now;
    now.blocks = stats_.blocks;
    now.held = stats_.held;
    now.leased = stats_.leased;
    now.copies = stats_.copies;
    stats_ = now;
  }
  std::string path() const { return file_.path(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  i64& held(Tier t) { return stats_.held[static_cast<std::size_t>(t)]; }
  // Those that may be evicted, longest unused first.
  void list(BlockEntry& e) {
    if (e.tier == Tier::disk || e.tier == Tier::nowhere) return;
    auto& l = unused_[e.where()];
    e.place = l.insert(l.end(), &e);
    e.listed = true;
  }
  void unlist(BlockEntry& e) {
    if (e.listed) unused_[e.where()].erase(e.place);
    e.listed = false;
  }

  void promote(Lock& lock, BlockEntry& e, Use use);
  void move_down(Lock& lock, BlockEntry& e, bool to_disk);
  void now_in(BlockEntry& e, Tier tier) {
    if (e.tier != Tier::nowhere) held(e.tier) -= e.bytes;
    e.tier = tier;
    if (e.tier != Tier::nowhere) held(e.tier) += e.bytes;
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<Place, std::list<BlockEntry*>> unused_;
  std::map<Place, i64> leaving_;  // blocks that move down just now
  SpillFile file_;
  GovernorStats stats_;
};

// Between memory of any kind and an extent; device memory in pieces.
template <class Piece>
void in_pieces(const Storage& memory, i64 bytes, bool to_memory, Piece&& piece) {
  if (memory.device().kind == Kind::cpu) return piece(i64{0}, memory.data(), bytes);
  const auto bounce =
      std::make_unique<char[]>(static_cast<std::size_t>(std::min(bytes, bounce_bytes)));
  const Stream stream = Stream::home(memory.device());
  for (i64 at = 0; at < bytes; at += bounce_bytes) {
    char* there = static_cast<char*>(memory.data()) + at;
    const i64 n = std::min(bytes - at, bounce_bytes);
    if (to_memory) piece(at, bounce.get(), n);
    if (to_memory)
      stream.copy(there, memory.device(), bounce.get(), cpu, n);
    else
      stream.copy(bounce.get(), cpu, there, memory.device(), n);
    stream.sync();
    if (!to_memory) piece(at, bounce.get(), n);
  }
}

void copy_memory(const Storage& to, const Storage& from, i64 bytes) {
  const bool up = to.device().kind != Kind::cpu;
  const Stream stream = Stream::home(up ? to.device() : from.device());
  stream.copy(to.data(), to.device(), from.data(), from.device(), bytes);
  stream.sync();
}

void Governor::promote(Lock& lock, BlockEntry& e, Use use) {
  unlist(e);
  e.moving = true;
  const bool bring = use != Use::overwrite && e.tier != Tier::nowhere,
             from_disk = e.tier == Tier::disk;
  lock.unlock();
  Storage fresh;
  try {
    const Span span("promote", "tiers", e.bytes);
    fresh = e.fresh_home();
    if (bring && from_disk) {
      in_pieces(fresh, e.bytes, true, [&](i64 at, void* to, i64 n) { e.extent.read(at, to, n); });
      tag_io("promote");
    } else if (bring) {
      copy_memory(fresh, e.memory, e.bytes);
    }
  } catch (...) {
    lock.lock();
    e.moving = false;
    list(e);
    moved_.notify_all();
    throw;
  }
  std::swap(e.memory, fresh);
  fresh = {};
  lock.lock();
  now_in(e, e.home_tier());
  if (from_disk) stats_.copies += e.bytes;
  if (bring) {
    ++stats_.promotions;
    (from_disk ? stats_.bytes_read : stats_.bytes_moved) += e.bytes;
  }
  e.moving = false;
  moved_.notify_all();
}

// Leaves the lock while it moves; afterwards the block is lower, or as it was and the reason thrown.
void Governor::move_down(Lock& lock, BlockEntry& e, bool to_disk) {
  const Place place = e.where();
  unlist(e);
  e.moving = true;
  ++leaving_[place];
  lock.unlock();
  Storage host;
  Extent extent = e.extent;
  const bool known = static_cast<bool>(extent);
  const auto over = [&] {
    lock.lock();
    e.moving = false;
    --leaving_[place];
    moved_.notify_all();
  };
  try {
    const Span span("spill", "tiers", e.bytes);
    e.memory.wait();
    if (e.tier != Tier::host && !to_disk && !known) try {
        host = Storage::allocate(cpu, e.bytes);
        copy_memory(host, e.memory, e.bytes);
      } catch (const OutOfMemory&) {
        host = {};  // straight to disk
      }
    if (!host && !known) {
      extent = file_.take(e.bytes);
      in_pieces(e.memory, e.bytes, false,
                [&](i64 at, const void* from, i64 n) { extent.write(at, from, n); });
      tag_io("spill");
    }
  } catch (...) {
    over();
    list(e);
    throw;
  }
  const bool written = !host && !known;
  std::swap(e.memory, host);  // what it had goes before anybody is told
  const bool in_host = static_cast<bool>(e.memory);
  host = {};
  over();
  e.extent = in_host ? Extent() : std::move(extent);
  if (known) stats_.copies -= e.bytes;
  now_in(e, in_host ? Tier::host : Tier::disk);
  ++stats_.spills;
  stats_.dropped += known;
  stats_.bytes_written += written ? e.bytes : 0;
  stats_.bytes_moved += in_host ? e.bytes : 0;
  list(e);
}

bool Governor::let_go(Place place, i64 missing) {
  std::vector<std::shared_ptr<BlockEntry>> keep;  // goes without the lock: it may be the last
  std::string reason;
  i64 freed = 0;
  Lock lock(mutex_);
  auto& candidates = unused_[place];
  auto next = [&]() -> std::shared_ptr<BlockEntry> {
    for (BlockEntry* e : candidates)
      if (std::ranges::none_of(keep, [&](const auto& k) { return k.get() == e; }))
        if (auto alive = e->weak_from_this().lock()) return alive;
    return nullptr;
  };
  while (freed < missing) {
    const std::shared_ptr<BlockEntry> e = next();
    if (!e) break;
    keep.push_back(e);
    try {
      move_down(lock, *e, false);
      freed += e->bytes;
    } catch (const Error& error) {  // the next may have its place on disk already
      reason = error.what();
    }
  }
  if (freed > 0) return true;
  if (leaving_[place] > 0) {
    const i64 spills = stats_.spills;
    moved_.wait(lock, [&] { return leaving_[place] == 0 || stats_.spills != spills; });
    if (stats_.spills != spills) return true;
  }
  lock.unlock();
  if (reason.empty()) return false;
  throw OutOfMemory(cat(place.second == Held::pinned ? "pinned host memory" : place.first.str(),
                        ": ", bytes_text(missing),
                        " more are needed, and what nobody uses cannot go to disk: ", reason));
}

Governor& governor() { return Governor::governor(); }

}  // namespace

BlockEntry::~BlockEntry() { governor().remove(*this); }

std::string_view tier_name(Tier tier) {
  constexpr std::array<std::string_view, 5> names = {"device", "pinned", "host", "disk", "nowhere"};
  return names[static_cast<std::size_t>(tier)];
}

GovernorStats governor_stats() { return governor().stats(); }
void reset_governor_stats() { governor().reset(); }
std::string spill_path() { return governor().path(); }

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    end();
    entry_ = std::move(other.entry_);
  }
  return *this;
}
void* Lease::data() const { return entry_->memory.data(); }
i64 Lease::bytes() const { return entry_->bytes; }
Device Lease::device() const { return entry_->home; }

Storage Lease::storage() const {
  governor().again(*entry_);
  auto own = std::make_shared<Lease>(Lease(entry_));
  return Storage::adopt(device(), data(), bytes(), [own] { own->end(); });
}

void Lease::end() noexcept {
  if (!entry_) return;
  governor().end_lease(*entry_);
  entry_.reset();
}

Block Block::make(i64 bytes, Device home) {
  require<ArgumentError>(bytes >= 0, "Block: ", bytes, " bytes");
  auto entry = std::make_shared<BlockEntry>(bytes, home, false, Kind::cpu);
  governor().add(*entry);
  return Block(std::move(entry));
}

Block Block::pinned(Kind kind, i64 bytes) {
  require<ArgumentError>(bytes >= 0, "Block: ", bytes, " bytes");
  auto entry = std::make_shared<BlockEntry>(bytes, cpu, true, kind);
  governor().add(*entry);
  return Block(std::move(entry));
}

Block Block::adopt(Storage storage) {
  require<ArgumentError>(static_cast<bool>(storage) && storage.writable() && !storage.is_pinned(),
                         "Block: expected a storage that may be written to and is not pinned");
  auto entry = std::make_shared<BlockEntry>(storage.bytes(), storage.device(), false, Kind::cpu);
  entry->tier = entry->home_tier();
  entry->memory = std::move(storage);
  governor().add(*entry);
  return Block(std::move(entry));
}

Lease Block::lease(Use use) const {
  governor().lease(*entry_, use);
  return Lease(entry_);
}
bool Block::spill() const { return governor().spill(*entry_); }
void Block::touch() const { governor().touch(*entry_); }
i64 Block::bytes() const { return entry_->bytes; }
Device Block::home() const { return entry_->home; }
Tier Block::tier() const { return governor().tier(*entry_); }
bool Block::leased() const { return governor().leased(*entry_); }

}  // namespace tessera::store
