// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/storage.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/device/recycled.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/tiny_readers.hpp"

namespace tessera {
namespace {

constexpr i64 tiny_bytes = 64, small_bytes = 512;
std::atomic<bool> tiny_had_readers{false};

// The streams besides its own that use a storage. The lock is taken only for storages that have
// some.
class Users {
 public:
  void add(const Stream& stream) {
    std::lock_guard lock(mutex_);
    for (const Stream& known : streams_)
      if (known == stream) return;
    streams_.push_back(stream);
    any_.store(true, std::memory_order_release);
  }
  std::vector<Stream> streams() const {
    if (!any_.load(std::memory_order_acquire)) return {};
    std::lock_guard lock(mutex_);
    return streams_;
  }
  void wait() const {
    for (const Stream& stream : streams()) stream.sync();
  }
  // Points after which the memory may go; a stream that takes no more work is waited for instead.
  std::vector<Event> events() const noexcept {
    std::vector<Event> events;
    for (const Stream& stream : streams()) try {
        Event event = stream.record();
        if (!event.done()) events.push_back(std::move(event));
      } catch (...) {
        try {
          stream.sync();
        } catch (...) {
        }
      }
    return events;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Stream> streams_;
  std::atomic<bool> any_{false};  // so that host reads of plain arrays take no lock
};

}  // namespace

struct Storage::Used : Impl {
  Users users;
  explicit Used(Origin o) : Impl(o) {}
  void record_stream(const Stream& stream) {
    if (stream.device().kind != Kind::cpu) users.add(stream);
  }
};

// Note [bytes of a tiny storage]
// Those of a scalar or of a small matrix on the host lie beside the reference counts: one
// allocation in all, and no lock. A stream that still reads them when the last storage goes keeps a
// weak reference to the block: the object is over, its memory stays until the stream has passed.
struct Storage::Tiny : Impl {
  template <i64 Capacity>
  struct Of;
  struct Readers {
    Users streams;
    std::weak_ptr<Impl> block;  // not of every storage: counting it costs as much as the bytes do
  };
  std::atomic<Readers*> readers{nullptr};

  explicit Tiny(i64 n) : Impl(Origin::tiny) {
    host_budget().charge(n);
    bytes = n;
  }
  ~Tiny() {
    host_budget().refund(bytes);
    const std::unique_ptr<Readers> r(readers.load(std::memory_order_acquire));
    if (!r) return;
    if (std::vector<Event> events = r->streams.events(); !events.empty())
      release_after(std::move(events), [block = r->block] {});
  }
  void record_stream(const Stream& stream, const std::shared_ptr<Impl>& self) {
    if (stream.device().kind == Kind::cpu) return;
    tiny_had_readers.store(true, std::memory_order_relaxed);
    Readers* r = readers.load(std::memory_order_acquire);
    if (!r) {
      auto fresh = std::make_unique<Readers>();
      fresh->block = self;
      if (readers.compare_exchange_strong(r, fresh.get())) r = fresh.release();
    }
    r->streams.add(stream);
  }
  void wait() {
    if (Readers* r = readers.load(std::memory_order_acquire)) r->streams.wait();
  }
};

template <i64 Capacity>
struct Storage::Tiny::Of : Tiny {
  // What is more than a scalar begins where vector registers and cache lines do, as in a pool.
  static constexpr std::uintptr_t alignment = Capacity > tiny_bytes ? 64 : 16;
  alignas(16) unsigned char memory[Capacity + alignment - 16];
  explicit Of(i64 n) : Tiny(n) {
    data = memory + (-reinterpret_cast<std::uintptr_t>(memory) & (alignment - 1));
    if (config().poison) std::memset(memory, 0xFF, sizeof memory);
  }
};

struct Storage::Pooled : Used {
  Pool& pool;
  Pool::Block block;
  std::optional<Stream> home;

  Pooled(Pool& p, Device d, i64 n, std::optional<Stream> s)
      : Used(Origin::pooled), pool(p), home(std::move(s)) {
    block = pool.take(n, stream());
    device = d;
    data = block.data;
    bytes = n;
  }
  ~Pooled() { pool.give(block, bytes, stream(), users.streams()); }
  const Stream* stream() const { return home ? &*home : nullptr; }
  void record_stream(const Stream& s) {
    if (!home || !(s == *home)) Used::record_stream(s);
  }
  void wait() {
    if (home) home->sync();
    users.wait();
  }
};

struct Storage::Adopted : Used {
  std::function<void()> release;
  Adopted() : Used(Origin::adopted) {}
  ~Adopted() {
    if (!release) return;
    std::vector<Event> events = users.events();
    add_home(events);
    if (events.empty())
      release();
    else
      release_after(std::move(events), std::move(release));
  }
  // Functions of arrays use the home stream, which nobody records: the memory goes back to its
  // owner when that has passed this point.
  void add_home(std::vector<Event>& events) const {
    if (device.kind == Kind::cpu) return;
    try {
      Event now = Stream::home(device).record();
      if (!now.done()) events.push_back(std::move(now));
    } catch (const Error&) {
      // A device that is lost computes nothing more.
    }
  }
  void wait() {
    if (device.kind != Kind::cpu) Stream::home(device).sync();
    users.wait();
  }
};

bool tiny_storages_had_readers() { return tiny_had_readers.load(std::memory_order_relaxed); }

Storage Storage::allocate(Device device, i64 bytes) {
  if (device == cpu) {
    count(Counter::pool_requests);
    if (bytes >= 0 && bytes <= small_bytes) {
      check_may_allocate(bytes);
      if (bytes <= tiny_bytes) return Storage(make_recycled<Tiny::Of<tiny_bytes>>(bytes));
      return Storage(make_recycled<Tiny::Of<small_bytes>>(bytes));
    }
    return Storage(make_recycled<Pooled>(device_pool(cpu), cpu, bytes, std::nullopt));
  }
  return allocate(Stream::home(device), bytes);
}

Storage Storage::allocate(const Stream& stream, i64 bytes) {
  const Device device = stream.device();
  if (device.kind == Kind::cpu) return allocate(device, bytes);
  count(Counter::pool_requests);
  return Storage(std::make_shared<Pooled>(device_pool(device), device, bytes, stream));
}

Storage Storage::pinned(Kind kind, i64 bytes) {
  count(Counter::pool_requests);
  Storage s(std::make_shared<Pooled>(pinned_pool(kind), cpu, bytes, std::nullopt));
  s.impl_->pinned = true;
  return s;
}

Storage Storage::adopt(Device device, void* data, i64 bytes, std::function<void()> release,
                       bool writable) {
  (void)compute_device(device);
  require<ArgumentError>(bytes >= 0 && (data != nullptr || bytes == 0), "adopt: ", bytes,
                         " bytes at a null pointer, or a negative number of them");
  auto impl = std::make_shared<Adopted>();
  impl->device = device;
  impl->data = data;
  impl->bytes = bytes;
  impl->writable = writable;
  impl->release = std::move(release);
  return Storage(std::move(impl));
}

Storage Storage::map_file(const std::string& path, i64 offset, i64 bytes, bool writable) {
  require<ArgumentError>(offset >= 0 && bytes >= 0, "map_file: '", path, "': offset ", offset,
                         " and ", bytes, " bytes; neither may be negative");
  const int file = open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  require<IoError>(file >= 0, "map_file: cannot open '", path, "': ", std::strerror(errno));
  struct Close {
    int file;
    ~Close() { close(file); }
  } closer{file};
  struct stat status {};
  require<IoError>(fstat(file, &status) == 0 && S_ISREG(status.st_mode), "map_file: '", path,
                   "' is not a regular file");
  require<IoError>(offset <= status.st_size && bytes <= status.st_size - offset, "map_file: '",
                   path, "' has ", status.st_size, " bytes; bytes ", offset, " to ", offset, " + ",
                   bytes, " were asked for");
  if (bytes == 0) return adopt(cpu, nullptr, 0, {}, writable);
  const i64 page = sysconf(_SC_PAGE_SIZE), skip = offset % page;
  const auto length = static_cast<std::size_t>(bytes + skip);
  void* base = mmap(nullptr, length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                    file, static_cast<off_t>(offset - skip));
  require<IoError>(base != MAP_FAILED, "map_file: cannot map ", bytes_text(bytes), " of '", path,
                   "': ", std::strerror(errno));
  Storage s = adopt(
      cpu, static_cast<char*>(base) + skip, bytes, [base, length] { munmap(base, length); },
      writable);
  s.impl_->mapped = true;
  return s;
}

bool Storage::prefetch(i64 offset, i64 bytes) const {
  if (!impl_ || !impl_->mapped) return false;
  const i64 page = sysconf(_SC_PAGE_SIZE);
  char* first = static_cast<char*>(impl_->data) + offset;
  const auto skip = static_cast<i64>(reinterpret_cast<std::uintptr_t>(first) % page);
  return madvise(first - skip, static_cast<std::size_t>(bytes + skip), MADV_WILLNEED) == 0;
}

void Storage::record_stream(const Stream& stream) const {
  switch (impl_->origin) {
    case Origin::tiny: return static_cast<Tiny&>(*impl_).record_stream(stream, impl_);
    case Origin::pooled: return static_cast<Pooled&>(*impl_).record_stream(stream);
    case Origin::adopted: return static_cast<Adopted&>(*impl_).record_stream(stream);
  }
}

void Storage::wait() const {
  switch (impl_->origin) {
    case Origin::tiny: return static_cast<Tiny&>(*impl_).wait();
    case Origin::pooled: return static_cast<Pooled&>(*impl_).wait();
    case Origin::adopted: return static_cast<Adopted&>(*impl_).wait();
  }
}

}  // namespace tessera
