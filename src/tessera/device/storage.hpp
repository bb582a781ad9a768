// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block of memory with a device and an owner, shared by the arrays that view it: from a pool,
// pinned, adopted from another library, or mapped from a file. No shape and no dtype here. Freed
// memory returns to its pool in stream order: it is not handed out again before the streams named
// by record_stream have passed the point at which it was freed.
//   Storage s = Storage::allocate(cpu, 4096);   s.record_stream(transfer);

#include <functional>
#include <memory>
#include <string>

#include "tessera/device/stream.hpp"

namespace tessera {

class TESSERA_API Storage {
 public:
  Storage() = default;
  // From the device's pool, ordered by its home stream. OutOfMemory names the bytes, the budget,
  // the use. Filled with 0xFF when config().poison is on. Zero bytes are fine.
  static Storage allocate(Device device, i64 bytes);
  static Storage allocate(const Stream& stream, i64 bytes);
  // Page-locked for `kind`, within the pinned budget.
  static Storage pinned(Kind kind, i64 bytes);
  // `release` is called once, by whichever thread lets go last, after the streams of record_stream
  // are past it; it must not throw.
  static Storage adopt(Device device, void* data, i64 bytes, std::function<void()> release,
                       bool writable = true);
  // Bytes [offset, offset + bytes) of a file that exists and holds them (IoError otherwise); writes
  // go to it.
  static Storage map_file(const std::string& path, i64 offset, i64 bytes, bool writable);

  explicit operator bool() const { return impl_ != nullptr; }
  Device device() const { return impl_->device; }
  void* data() const { return impl_->data; }
  i64 bytes() const { return impl_->bytes; }
  bool writable() const { return impl_->writable; }
  bool is_pinned() const { return impl_->pinned; }
  i64 use_count() const { return impl_.use_count(); }
  // Work of `stream` uses this memory, though it belongs to another stream.
  void record_stream(const Stream& stream) const;
  // Asks the system to read these bytes of a mapped file while other work goes on; they are read
  // when they are needed otherwise. False where there is no file.
  bool prefetch(i64 offset, i64 bytes) const;
  // The host waits until nothing enqueued so far (home stream, recorded streams) uses this memory;
  // rethrows what failed. Call before the host reads or writes. Free for the cpu.
  void wait() const;
  friend bool operator==(const Storage& a, const Storage& b) { return a.impl_ == b.impl_; }

 private:
  // Where the bytes came from, which decides what waiting and freeing mean. Not a virtual class:
  // the shared pointer frees each as what it was made.
  enum class Origin : std::uint8_t { tiny, pooled, adopted };
  struct Impl {
    Origin origin;
    Device device;
    void* data = nullptr;
    i64 bytes = 0;
    bool writable = true;
    bool pinned = false;
    bool mapped = false;  // of a file
    explicit Impl(Origin o) : origin(o) {}
  };
  struct Used;
  struct Pooled;
  struct Tiny;
  struct Adopted;
  explicit Storage(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera
