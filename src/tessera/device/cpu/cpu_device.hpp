// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host as a device: its memory is the process's own, its streams run each task before launch()
// returns and throw what it throws, its events are always done. Threads are a matter of the kernels
// (device/threads.hpp). There is nothing to capture.
//   CpuDevice host;   host.launch(0, nullptr, task, launch);

#include "tessera/device/compute_device.hpp"

namespace tessera {

class CpuDevice final : public ComputeDevice {
 public:
  CpuDevice();
  Kind kind() const override { return Kind::cpu; }
  int count() const noexcept override { return 1; }
  DeviceInfo info(int index) const override;
  const KernelTable& kernels() const override;
  bool host_memory() const noexcept override { return true; }

  void* allocate(int index, i64 bytes) override;
  void release(int index, void* p, i64 bytes) noexcept override;
  void* allocate_pinned(i64 bytes) override { return allocate(0, bytes); }
  void release_pinned(void* p, i64 bytes) noexcept override { release(0, p, bytes); }

  void* make_stream(int) override { return nullptr; }
  void drop_stream(int, void*) noexcept override {}
  void* make_event(int) override { return nullptr; }
  void drop_event(int, void*) noexcept override {}
  void record(int, void*, void*) override {}
  void wait(int, void*, void*) override {}
  bool done(int, void*) override { return true; }
  void sync_event(int, void*) override {}
  void sync_stream(int, void*) override {}

  void launch(int index, void* stream, const Task& task, const Launch& launch) override;
  void copy(int index, void* stream, const Copy& copy) override;
  void fill(int index, void* stream, void* p, int byte, i64 bytes) override;
  bool peer_access(int, int) const override { return true; }
  bool failed(int, void*) noexcept override { return false; }

  bool capturable() const noexcept override { return false; }
  void begin_capture(int index, void* stream) override;
  void* end_capture(int index, void* stream) override;
  void launch_graph(int index, void* stream, void* graph) override;
  void drop_graph(int, void*) noexcept override {}
};

// Memory as that of allocate(0, bytes), with all bytes zero and no page touched; null where the
// system has no such pages for a block of this size.
void* allocate_zeroed_host(i64 bytes);

}  // namespace tessera
