// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ordered queues of work on a device, and the points in them that others wait for. Handles: cheap
// to copy, usable from any thread; work that two threads enqueue on one stream is ordered by a
// lock. There is no current or default stream to set: each device has one fixed home stream, on
// which eager array functions run. A failure in asynchronous work sticks to its stream and is
// rethrown by wait, sync and host reads.
//   Stream s(Device::parse("sim:0"));   Event e = s.record();   other.wait(e);   s.sync();

#include <memory>
#include <optional>

#include "tessera/device/compute_device.hpp"

namespace tessera {

class TESSERA_API Event {
 public:
  Event() = default;  // an empty event is done
  bool done() const;
  void wait() const;  // the host waits; rethrows the first failure before the event
  bool empty() const { return impl_ == nullptr; }

 private:
  friend class Stream;
  friend class RepeatedEvent;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

class TESSERA_API Stream {
 public:
  explicit Stream(Device device);
  static Stream home(Device device);  // the one fixed stream of a device
  Device device() const;
  Event record() const;
  void wait(const Event& event) const;  // this stream waits; events of other devices are fine
  void sync() const;
  bool failed() const;  // work of it is known to have failed, the rest is not done; does not wait
  void launch(const Task& task,
              const Launch& launch) const;  // sets launch.stream and device_index itself
  // Either end must be this stream's device; the other this device's kind, or the host.
  void copy(void* to, Device to_device, const void* from, Device from_device, i64 bytes) const {
    copy({.to = to,
          .to_device = to_device,
          .from = from,
          .from_device = from_device,
          .row_bytes = bytes});
  }
  void copy(const Copy& copy) const;  // rows with a pitch; a label for logs and traces
  void fill(void* p, int byte, i64 bytes) const;
  void* native() const;
  i64 id() const;  // distinct per stream and process, small: names its track in a trace
  friend bool operator==(const Stream& a, const Stream& b) { return a.impl_ == b.impl_; }

 private:
  friend class RepeatedEvent;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// An event that is recorded again and again; a wait means the most recent record before it, and a
// waiter never overtakes: record number n is seen by all waits asked after it. Safe from several
// threads. Makes no new event objects after the first record on a device.
class TESSERA_API RepeatedEvent {
 public:
  RepeatedEvent();  // of any device: recorded on whatever stream
  explicit RepeatedEvent(Device device);
  std::optional<Device> device() const;  // on whose streams it is recorded; nullopt: any
  void record(const Stream& stream);
  void wait(const Stream& stream) const;  // nothing to wait for before the first record
  void sync() const;
  i64 records() const;
  const void* id() const { return impl_.get(); }  // of all that are the same event
  friend bool operator==(const RepeatedEvent& a, const RepeatedEvent& b) {
    return a.impl_ == b.impl_;
  }

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera
