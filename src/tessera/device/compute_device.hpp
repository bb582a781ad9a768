// SPDX-License-Identifier: Apache-2.0
#pragma once
// The seam of a kind of device: memory, streams, events, copies, launches, capture, and its
// kernels. One object per kind, made by the registry, never destroyed (streams may outlive
// statics). People use Stream, Event and Storage; only those and the planner call this class.
// Handles are opaque pointers of the device.
//   ComputeDevice& d = compute_device(Kind::sim);  void* s = d.make_stream(0);

#include <array>
#include <memory>
#include <string>

#include "tessera/base/api.hpp"
#include "tessera/device/device.hpp"

namespace tessera {

struct KernelTable;  // kernels/table.hpp

inline constexpr int max_operands = 16;

// What a kernel gets when it runs: everything by value, so an asynchronous device can keep it.
struct Launch {
  std::array<void*, max_operands>
      operand{};              // at the first element of each view: offsets are applied
  void* workspace = nullptr;  // as many bytes as prepare() asked for, 64-byte aligned
  void* stream = nullptr;     // native stream of the device
  int device_index = 0;
  const char* label = nullptr;  // of the plan step, for traces; outlives the work
};
using RunFn = void (*)(const void* state, const Launch&);

// A prepared kernel: a function and what it needs to know. Copying does not allocate.
struct Task {
  RunFn run = nullptr;
  std::shared_ptr<const void> state;
};

// Bytes from one place to another: rows whose starts lie a pitch apart on either side. One row is a
// plain block.
struct Copy {
  void* to = nullptr;
  Device to_device;
  const void* from = nullptr;
  Device from_device;
  i64 row_bytes = 0;
  i64 rows = 1;
  i64 to_pitch = 0, from_pitch = 0;  // bytes; of no matter for one row
  const char* label = nullptr;       // as that of Launch
  i64 bytes() const { return rows * row_bytes; }
};

struct DeviceInfo {
  std::string name;     // "NVIDIA H200", "Neoverse-V1"
  std::string details;  // compute capability, cores, …; for `tessera info`
  i64 memory_total = 0;
  i64 memory_free = 0;
};

class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  virtual Kind kind() const = 0;
  virtual int count() const noexcept = 0;
  virtual DeviceInfo info(int index) const = 0;
  virtual const KernelTable& kernels() const = 0;
  // The host may dereference pointers of this device. Only then do runs finish before launch()
  // returns.
  virtual bool host_memory() const noexcept = 0;

  // Raw memory: slow, called by pools only. At least 64-byte aligned; OutOfMemory when there is
  // none.
  virtual void* allocate(int index, i64 bytes) = 0;
  // Waits for work of this device that may still use the memory, as cudaFree does.
  virtual void release(int index, void* p, i64 bytes) noexcept = 0;
  // Host memory that this kind transfers from and to at full speed (page-locked for CUDA).
  virtual void* allocate_pinned(i64 bytes) = 0;
  virtual void release_pinned(void* p, i64 bytes) noexcept = 0;

  virtual void* make_stream(int index) = 0;
  virtual void drop_stream(int index, void* stream) noexcept = 0;  // after its work has ended
  virtual void* make_event(int index) = 0;
  virtual void drop_event(int index, void* event) noexcept = 0;
  virtual void record(int index, void* stream, void* event) = 0;
  virtual void wait(int index, void* stream,
                    void* event) = 0;  // the stream waits, the host does not
  virtual bool done(int index, void* event) = 0;
  virtual void sync_event(int index,
                          void* event) = 0;  // rethrows the failure that the event carries
  virtual void sync_stream(int index,
                           void* stream) = 0;  // rethrows the sticky failure of the stream

  // Enqueue. Failures of the work itself stick to the stream.
  virtual void launch(int index, void* stream, const Task& task, const Launch& launch) = 0;
  // Bytes between this device and the host, or two devices of this kind. `stream` belongs to
  // `index`, which is either end.
  virtual void copy(int index, void* stream, const Copy& copy) = 0;
  virtual void fill(int index, void* stream, void* p, int byte, i64 bytes) = 0;
  // Copies between the two need no detour through the host.
  virtual bool peer_access(int from, int to) const = 0;

  // What is enqueued between begin and end is kept as a graph instead of run. Replays use the same
  // addresses. `capturable()` false: the planner never calls the rest.
  virtual bool capturable() const noexcept = 0;
  virtual void begin_capture(int index, void* stream) = 0;
  virtual void* end_capture(int index, void* stream) = 0;
  virtual void launch_graph(int index, void* stream, void* graph) = 0;
  virtual void drop_graph(int index, void* graph) noexcept = 0;

  // Work of the stream is known to have failed: what is enqueued on it will not run. Does not wait.
  virtual bool failed(int index, void* stream) noexcept = 0;
};

}  // namespace tessera
