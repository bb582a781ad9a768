// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns status codes of the CUDA runtime, cuBLAS and cuFFT into our exceptions: OutOfMemory where
// memory is missing, DeviceError where the context is lost and only a new process helps,
// PlanError for what a capture forbids, BackendError otherwise. Each text has the code's name,
// CUDA's own words and what was being done. It decides nothing about recovery.
//   check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "making a stream");
//   check_launch("add");

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cufft.h>

#include <string_view>

namespace tessera {

// True for errors after which every later call of this process fails as well (illegal address, …).
bool context_lost(cudaError_t error) noexcept;
[[noreturn]] void throw_cuda(cudaError_t error, std::string_view doing);
[[noreturn]] void throw_cublas(cublasStatus_t status, std::string_view doing);
[[noreturn]] void throw_cufft(cufftResult status, std::string_view doing);

inline void check(cudaError_t error, std::string_view doing) {
  if (error != cudaSuccess) [[unlikely]]
    throw_cuda(error, doing);
}
inline void check(cublasStatus_t status, std::string_view doing) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw_cublas(status, doing);
}
inline void check(cufftResult status, std::string_view doing) {
  if (status != CUFFT_SUCCESS) [[unlikely]]
    throw_cufft(status, doing);
}
// After <<<>>>: a refused launch is reported here and cleared.
inline void check_launch(std::string_view kernel) { check(cudaGetLastError(), kernel); }

// The GPU behind a device. Devices beyond the last GPU (config().cuda_devices) share the GPUs in
// turn: each has streams, memory pools and budgets of its own.
int gpu_of(int index) noexcept;

// Makes the GPU of `index` current for this thread and scope and puts back what other libraries had
// set.
class DeviceGuard {
 public:
  explicit DeviceGuard(int index) {
    check(cudaGetDevice(&before_), "asking for the current device");
    const int gpu = gpu_of(index);
    if (before_ == gpu) {
      before_ = -1;
    } else {
      check(cudaSetDevice(gpu), "choosing a device");
    }
  }
  ~DeviceGuard() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = -1;  // -1: nothing to put back
};

}  // namespace tessera
