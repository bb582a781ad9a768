// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuSOLVER for the dense kernel: one handle per device, used under its lock while work is enqueued;
// its device memory is the launch's workspace, its host memory is kept beside the handle. Private
// to the plug-in.
//   SolverLock solver(launch.device_index, stream);   cusolverDnXgetrf(solver.handle(), ...);

#include <cusolverDn.h>

#include <map>
#include <mutex>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/device/cuda/check.hpp"

namespace tessera::cuda {

using tessera::check;
inline void check(cusolverStatus_t status, std::string_view doing) {
  if (status == CUSOLVER_STATUS_SUCCESS) [[likely]]
    return;
  const cudaError_t pending = cudaPeekAtLastError();
  if (context_lost(pending)) throw_cuda(pending, doing);
  const std::string text = cat("cuda: ", doing, ": cuSOLVER's status ", static_cast<int>(status));
  if (status == CUSOLVER_STATUS_ALLOC_FAILED) throw OutOfMemory(text);
  throw BackendError(text);
}

struct Solver {
  std::mutex mutex;
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  std::vector<std::byte> host;
};

// Never destroyed, as the device itself. Makes the handle at the first call for a device.
inline Solver& solver_of(int device) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<int, Solver>;
  const std::lock_guard lock(*mutex);
  Solver& s = (*all)[device];
  if (!s.handle) {
    const DeviceGuard guard(device);
    check(cusolverDnCreate(&s.handle), "starting cuSOLVER");
    check(cusolverDnCreateParams(&s.params), "starting cuSOLVER");
  }
  return s;
}

class SolverLock {
 public:
  SolverLock(int device, cudaStream_t stream)
      : solver_(solver_of(device)), lock_(solver_.mutex), stream_(stream) {
    check(cusolverDnSetStream(solver_.handle, stream), "setting cuSOLVER's stream");
  }
  cusolverDnHandle_t handle() const { return solver_.handle; }
  cusolverDnParams_t params() const { return solver_.params; }
  // At least that many bytes of the host. Work of before may still read what is outgrown.
  void* host(std::size_t bytes) {
    if (bytes > solver_.host.size()) {
      check(cudaStreamSynchronize(stream_), "waiting for cuSOLVER");
      solver_.host.resize(bytes);
    }
    return solver_.host.data();
  }

 private:
  Solver& solver_;
  std::lock_guard<std::mutex> lock_;
  cudaStream_t stream_;
};

}  // namespace tessera::cuda
