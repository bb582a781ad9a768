// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/stream.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/report/log.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/stream_track.hpp"

namespace tessera {
namespace {

// Native events that nobody holds and nothing waits for: making one is a slow call on real devices.
struct EventCache {
  std::mutex mutex;
  std::vector<void*> idle;

  void* take(ComputeDevice& backend, int index) {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        void* event = idle.back();
        idle.pop_back();
        return event;
      }
    }
    return backend.make_event(index);
  }
  void give(ComputeDevice& backend, int index, void* event) noexcept {
    try {
      // An event with a record still ahead would make the next user wait for a stranger's work.
      if (backend.done(index, event)) {
        std::lock_guard lock(mutex);
        idle.push_back(event);
        return;
      }
    } catch (...) {
      // A device that cannot answer keeps no events.
    }
    backend.drop_event(index, event);
  }
};

EventCache& event_cache(Device d) {
  static auto* caches = new std::array<std::array<EventCache, max_devices>, kind_count>;
  return (*caches)[static_cast<std::size_t>(d.kind)][static_cast<std::size_t>(d.index)];
}

std::atomic<i64> next_stream_id{1};

// Which stream a native handle is, for the names of tracks.
struct Tracks {
  std::mutex mutex;
  std::vector<std::pair<const void*, i64>> ids;
};
Tracks& tracks() {
  static auto* t = new Tracks;  // leaked: streams may end during exit
  return *t;
}

void count_copy(const Copy& c) {
  if (c.to_device == c.from_device) return;
  count(Counter::copies);
  count(c.from_device.kind == Kind::cpu ? Counter::bytes_host_to_device
        : c.to_device.kind == Kind::cpu ? Counter::bytes_device_to_host
                                        : Counter::bytes_device_to_device,
        c.bytes());
}

// One sentence: who moves how much from where to where, and on which stream.
void log_copy(const Copy& c, Device owner, i64 stream) {
  std::string who = c.label ? c.label : "a copy";
  who.resize(std::min(who.size(), who.find(": transfer ")));  // labels of plans repeat the devices
  log_line(cat(who, " moves ", bytes_text(c.bytes()), " from ", c.from_device, " to ", c.to_device,
               " on stream ", stream, " of ", owner));
}

}  // namespace

struct Event::Impl {
  Device device;
  ComputeDevice& backend;
  void* native;

  Impl(Device d, ComputeDevice& b)
      : device(d), backend(b), native(event_cache(d).take(b, d.index)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { event_cache(device).give(backend, device.index, native); }
};

bool Event::done() const {
  return !impl_ || impl_->backend.done(impl_->device.index, impl_->native);
}

void Event::wait() const {
  if (impl_) impl_->backend.sync_event(impl_->device.index, impl_->native);
}

struct Stream::Impl {
  Device device;
  ComputeDevice& backend;
  bool runs_inline;
  i64 id = next_stream_id.fetch_add(1, std::memory_order_relaxed);
  void* native;

  explicit Impl(Device d)
      : device(d),
        backend(compute_device(d)),
        runs_inline(backend.host_memory()),
        native(backend.make_stream(d.index)) {
    if (runs_inline) return;
    std::lock_guard lock(tracks().mutex);
    tracks().ids.emplace_back(native, id);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (runs_inline) return;
    try {
      backend.sync_stream(device.index, native);
    } catch (...) {
      // The stream has ended its work; whoever cared for the failure has asked for it before.
    }
    stream_ended(device, id);
    {
      std::lock_guard lock(tracks().mutex);
      std::erase(tracks().ids, std::pair<const void*, i64>(native, id));
    }
    backend.drop_stream(device.index, native);
  }

  // This stream waits for a native event of a device. Devices of one kind wait for each other
  // without the host; between kinds the host waits.
  void wait(Device owner, ComputeDevice& owner_backend, void* event) const {
    if (owner.kind == device.kind)
      backend.wait(device.index, native, event);
    else
      owner_backend.sync_event(owner.index, event);
  }
};

Stream::Stream(Device device) : impl_(std::make_shared<Impl>(device)) {}

Stream Stream::home(Device device) {
  static auto* table = new std::array<std::array<std::atomic<Stream*>, max_devices>, kind_count>{};
  if (device.index < 0 || device.index >= max_devices)
    (void)compute_device(device);  // throws the sentence
  auto& entry =
      (*table)[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
  if (const Stream* stream = entry.load(std::memory_order_acquire)) return *stream;
  auto fresh = std::make_unique<Stream>(device);
  Stream* expected = nullptr;
  if (!entry.compare_exchange_strong(expected, fresh.get())) return *expected;
  return *fresh.release();  // lives as long as the process
}

Device Stream::device() const { return impl_->device; }
void* Stream::native() const { return impl_->native; }
i64 Stream::id() const { return impl_->id; }

std::string stream_track(Device device, const void* native) {
  std::lock_guard lock(tracks().mutex);
  for (const auto& [handle, id] : tracks().ids)
    if (handle == native) return cat(device, " stream ", id);
  return device.str();
}

Event Stream::record() const {
  Event event;
  if (impl_->runs_inline) return event;
  event.impl_ = std::make_shared<Event::Impl>(impl_->device, impl_->backend);
  impl_->backend.record(impl_->device.index, impl_->native, event.impl_->native);
  return event;
}

void Stream::wait(const Event& event) const {
  if (event.impl_) impl_->wait(event.impl_->device, event.impl_->backend, event.impl_->native);
}

void Stream::sync() const {
  impl_->backend.sync_stream(impl_->device.index, impl_->native);
  collect_deferred();
}

void Stream::launch(const Task& task, const Launch& launch) const {
  count(Counter::launches);
  if (impl_->runs_inline) {
    const Span span(launch.label ? launch.label : "kernel", "cpu");
    return task.run(task.state.get(), launch);
  }
  Launch complete = launch;
  complete.stream = impl_->native;
  complete.device_index = impl_->device.index;
  impl_->backend.launch(impl_->device.index, impl_->native, task, complete);
}

void Stream::copy(const Copy& c) const {
  const Device mine = impl_->device;
  const Device other = c.to_device == mine ? c.from_device : c.to_device;
  require<DeviceError>((c.to_device == mine || c.from_device == mine) &&
                           (other.kind == mine.kind || other.kind == Kind::cpu),
                       "copy from ", c.from_device, " to ", c.to_device, " on a stream of ", mine,
                       ": one end must be the stream's device, the other of its kind or the host");
  require<ArgumentError>(
      c.rows >= 0 && c.row_bytes >= 0 &&
          (c.rows <= 1 || (c.to_pitch >= c.row_bytes && c.from_pitch >= c.row_bytes)),
      "copy of ", c.rows, " rows of ", c.row_bytes, " bytes: rows that start ", c.from_pitch,
      " and ", c.to_pitch, " bytes apart would overlap");
  count_copy(c);
  if (config().log_device_transfers && !(c.to_device == c.from_device))
    log_copy(c, mine, impl_->id);
  if (c.bytes() > 0) impl_->backend.copy(mine.index, impl_->native, c);
}

bool Stream::failed() const {
  return !impl_->runs_inline && impl_->backend.failed(impl_->device.index, impl_->native);
}

void Stream::fill(void* p, int byte, i64 bytes) const {
  if (bytes > 0) impl_->backend.fill(impl_->device.index, impl_->native, p, byte, bytes);
}

// One native event per device, recorded again and again: record and wait go to the device under one
// lock, so a wait is for the newest record that was asked before it.
struct RepeatedEvent::Impl {
  struct Native {
    Device device;
    ComputeDevice* backend = nullptr;
    void* event = nullptr;
  };
  std::optional<Device> bound;
  std::vector<Native> natives;
  std::size_t newest = 0;  // of the natives
  mutable std::mutex mutex;
  i64 records = 0;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const Native& n : natives) n.backend->drop_event(n.device.index, n.event);
  }
  std::size_t native_of(Device d) {
    for (std::size_t i = 0; i < natives.size(); ++i)
      if (natives[i].device == d) return i;
    ComputeDevice& backend = compute_device(d);
    natives.reserve(natives.size() + 1);  // an event is made only once there is room to keep it
    natives.push_back({d, &backend, backend.make_event(d.index)});
    return natives.size() - 1;
  }
  Native latest() const {
    std::lock_guard lock(mutex);
    return records > 0 ? natives[newest] : Native{};
  }
};

RepeatedEvent::RepeatedEvent() : impl_(std::make_shared<Impl>()) {}
RepeatedEvent::RepeatedEvent(Device device) : RepeatedEvent() {
  impl_->bound = device;
  (void)impl_->native_of(device);
}

std::optional<Device> RepeatedEvent::device() const { return impl_->bound; }

void RepeatedEvent::record(const Stream& stream) {
  const Device d = stream.device();
  require<DeviceError>(!impl_->bound || d == *impl_->bound, "RepeatedEvent of ",
                       impl_->bound.value_or(d), ": cannot be recorded on a stream of ", d);
  std::lock_guard lock(impl_->mutex);
  const std::size_t at = impl_->native_of(d);
  const Impl::Native& n = impl_->natives[at];
  n.backend->record(d.index, stream.native(), n.event);
  impl_->newest = at;
  ++impl_->records;
}

void RepeatedEvent::wait(const Stream& stream) const {
  std::lock_guard lock(impl_->mutex);
  if (impl_->records == 0) return;
  const Impl::Native& n = impl_->natives[impl_->newest];
  stream.impl_->wait(n.device, *n.backend, n.event);
}

void RepeatedEvent::sync() const {
  const Impl::Native n = impl_->latest();
  if (n.backend) n.backend->sync_event(n.device.index, n.event);
}

i64 RepeatedEvent::records() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->records;
}

}  // namespace tessera
