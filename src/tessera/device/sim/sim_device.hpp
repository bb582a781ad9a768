// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fake accelerators in host memory: sim:0, sim:1, … with memory of their own (poisoned, limited,
// not readable by the host), a worker thread per stream, random delays (config sim_delay_us), and
// failures or missing peer access on request (sim/faults.hpp). They run the kernels of the cpu.
// They prove streams, events and placement on any laptop; they are no faster than the cpu, and do
// not try to be.
//   Stream s(Device::parse("sim:0"));   s.launch(task, launch);   s.sync();

#include <memory>
#include <vector>

#include "tessera/device/compute_device.hpp"

namespace tessera {

struct SimUnit;

class SimDevice final : public ComputeDevice {
 public:
  SimDevice();
  ~SimDevice() override;
  Kind kind() const override { return Kind::sim; }
  int count() const noexcept override { return static_cast<int>(units_.size()); }
  DeviceInfo info(int index) const override;
  const KernelTable& kernels() const override;
  bool host_memory() const noexcept override { return false; }

  void* allocate(int index, i64 bytes) override;
  void release(int index, void* p, i64 bytes) noexcept override;
  void* allocate_pinned(i64 bytes) override;
  void release_pinned(void* p, i64 bytes) noexcept override;

  void* make_stream(int index) override;
  void drop_stream(int index, void* stream) noexcept override;
  void* make_event(int index) override;
  void drop_event(int index, void* event) noexcept override;
  void record(int index, void* stream, void* event) override;
  void wait(int index, void* stream, void* event) override;
  bool done(int index, void* event) override;
  void sync_event(int index, void* event) override;
  void sync_stream(int index, void* stream) override;

  void launch(int index, void* stream, const Task& task, const Launch& launch) override;
  void copy(int index, void* stream, const Copy& copy) override;
  void fill(int index, void* stream, void* p, int byte, i64 bytes) override;
  bool peer_access(int from, int to) const override;
  bool failed(int index, void* stream) noexcept override;

  bool capturable() const noexcept override { return true; }
  void begin_capture(int index, void* stream) override;
  void* end_capture(int index, void* stream) override;
  void launch_graph(int index, void* stream, void* graph) override;
  void drop_graph(int index, void* graph) noexcept override;

  SimUnit& unit(int index) const { return *units_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<std::unique_ptr<SimUnit>> units_;
};

}  // namespace tessera
