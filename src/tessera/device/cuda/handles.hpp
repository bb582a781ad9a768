// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles of NVIDIA's libraries, made once and shared. One cuBLAS handle per device and a cache of
// cuFFT plans; both are used under their lock, which is held while work is enqueued and never while
// it runs. They take their memory from the caller, so nothing is allocated when a kernel runs and
// captures are legal.
//   BlasLock blas(device, stream, workspace, bytes);   cublasSgemm_v2_64(blas.handle(), ...);

#include <cublas_v2.h>
#include <cufft.h>

#include <compare>
#include <memory>
#include <mutex>

#include "tessera/base/shape.hpp"

namespace tessera::cuda {

// Makes the handle of a device (slow, allocates): call it when a kernel is prepared.
void prepare_blas(int device);

class BlasLock {
 public:
  // `workspace` may lie anywhere: the part that is aligned to 256 bytes is used.
  BlasLock(int device, cudaStream_t stream, void* workspace, i64 bytes);
  cublasHandle_t handle() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cublasHandle_t handle_ = nullptr;
};

// What cufftMakePlanMany64 takes. rank 1 to 3.
struct FftPlanKey {
  int device = 0;
  cufftType type = CUFFT_C2C;
  int rank = 1;
  long long size[3] = {1, 1, 1};
  long long in_embed[3] = {1, 1, 1}, in_stride = 1, in_distance = 1;
  long long out_embed[3] = {1, 1, 1}, out_stride = 1, out_distance = 1;
  long long batch = 1;
  auto operator<=>(const FftPlanKey&) const = default;
};

class FftPlan {
 public:
  explicit FftPlan(const FftPlanKey& key);
  ~FftPlan();
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;
  i64 workspace() const { return workspace_; }  // bytes
  // sign is CUFFT_FORWARD or CUFFT_INVERSE for complex types; `in` is not changed unless it is
  // `out`, but a transform to real numbers may use it as scratch.
  void run(cudaStream_t stream, void* workspace, void* in, void* out, int sign) const;

 private:
  FftPlanKey key_;
  cufftHandle handle_ = 0;
  i64 workspace_ = 0;
  mutable std::mutex mutex_;
};

// The plan for a key, from the cache when it was used lately.
std::shared_ptr<const FftPlan> fft_plan(const FftPlanKey& key);

}  // namespace tessera::cuda
