// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices of kind cuda, over the CUDA runtime. Handles are the native ones: a stream is a
// cudaStream_t (never the default stream), an event a cudaEvent_t without timing, a graph a
// cudaGraphExec_t. Failures of asynchronous work poison the whole CUDA context, so every later call
// reports them: they cannot be lost. Refused launches are thrown at once. No caching here: pools
// stand above.
//   CudaDevice d;   void* s = d.make_stream(0);   d.sync_stream(0, s);

#include <atomic>
#include <mutex>
#include <vector>

#include "tessera/device/compute_device.hpp"

namespace tessera {

const KernelTable& cuda_kernels();  // kernels/cuda/table_cuda.cu

class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice();
  // Empty when there is at least one device, else the sentence that says why there is none.
  const std::string& why_none() const { return why_none_; }

  Kind kind() const override { return Kind::cuda; }
  int count() const noexcept override { return count_; }
  DeviceInfo info(int index) const override;
  const KernelTable& kernels() const override { return cuda_kernels(); }
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
  // A failure belongs to the whole context, and each call reports it.
  bool failed(int, void*) noexcept override { return false; }

  bool capturable() const noexcept override { return true; }
  void begin_capture(int index, void* stream) override;
  void* end_capture(int index, void* stream) override;
  void launch_graph(int index, void* stream, void* graph) override;
  void drop_graph(int index, void* graph) noexcept override;

 private:
  void enable_peers(int a, int b);

  int count_ = 0;
  std::string why_none_;
  std::mutex peers_mutex_;
  std::vector<char> peers_enabled_;  // [from * count + to], under the mutex
};

}  // namespace tessera
