// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cuda/handles.hpp"

#include <list>
#include <map>

#include "tessera/device/cuda/check.hpp"

namespace tessera::cuda {
namespace {

struct BlasHandle {
  std::mutex mutex;
  cublasHandle_t handle = nullptr;
};

// Never destroyed, as the device itself: the driver may be gone before statics are.
BlasHandle& blas_handle(int device) {
  static auto* mutex = new std::mutex;
  static auto* handles = new std::map<int, BlasHandle>;
  const std::lock_guard lock(*mutex);
  return (*handles)[device];
}

constexpr std::size_t blas_alignment = 256;
constexpr std::size_t cached_plans = 256;

}  // namespace

void prepare_blas(int device) {
  BlasHandle& h = blas_handle(device);
  const std::lock_guard lock(h.mutex);
  if (h.handle) return;
  const DeviceGuard guard(device);
  check(cublasCreate(&h.handle), "starting cuBLAS");
  check(cublasSetPointerMode(h.handle, CUBLAS_POINTER_MODE_HOST), "setting up cuBLAS");
}

BlasLock::BlasLock(int device, cudaStream_t stream, void* workspace, i64 bytes) {
  BlasHandle& h = blas_handle(device);
  lock_ = std::unique_lock(h.mutex);
  handle_ = h.handle;
  // Setting the stream takes the workspace away, so the order matters.
  check(cublasSetStream(handle_, stream), "setting cuBLAS's stream");
  auto room = static_cast<std::size_t>(bytes);
  void* start = workspace;
  if (std::align(blas_alignment, 1, start, room))
    check(cublasSetWorkspace(handle_, start, room), "setting cuBLAS's workspace");
}

FftPlan::FftPlan(const FftPlanKey& key) : key_(key) {
  const DeviceGuard guard(key.device);
  check(cufftCreate(&handle_), "making a plan of cuFFT");
  std::size_t bytes = 0;
  FftPlanKey k = key;  // cuFFT takes pointers to non-const
  cufftResult status = cufftSetAutoAllocation(handle_, 0);
  if (status == CUFFT_SUCCESS)
    status =
        cufftMakePlanMany64(handle_, k.rank, k.size, k.in_embed, k.in_stride, k.in_distance,
                            k.out_embed, k.out_stride, k.out_distance, k.type, k.batch, &bytes);
  if (status != CUFFT_SUCCESS) {
    cufftDestroy(handle_);
    check(status, "planning a transform with cuFFT");
  }
  workspace_ = static_cast<i64>(bytes);
}

FftPlan::~FftPlan() { cufftDestroy(handle_); }

void FftPlan::run(cudaStream_t stream, void* workspace, void* in, void* out, int sign) const {
  const std::lock_guard lock(mutex_);
  check(cufftSetStream(handle_, stream), "setting cuFFT's stream");
  if (workspace_ > 0) check(cufftSetWorkArea(handle_, workspace), "setting cuFFT's work area");
  cufftResult status = CUFFT_INVALID_TYPE;
  switch (key_.type) {
    case CUFFT_C2C:
      status = cufftExecC2C(handle_, static_cast<cufftComplex*>(in),
                            static_cast<cufftComplex*>(out), sign);
      break;
    case CUFFT_Z2Z:
      status = cufftExecZ2Z(handle_, static_cast<cufftDoubleComplex*>(in),
                            static_cast<cufftDoubleComplex*>(out), sign);
      break;
    case CUFFT_R2C:
      status = cufftExecR2C(handle_, static_cast<cufftReal*>(in), static_cast<cufftComplex*>(out));
      break;
    case CUFFT_D2Z:
      status = cufftExecD2Z(handle_, static_cast<cufftDoubleReal*>(in),
                            static_cast<cufftDoubleComplex*>(out));
      break;
    case CUFFT_C2R:
      status = cufftExecC2R(handle_, static_cast<cufftComplex*>(in), static_cast<cufftReal*>(out));
      break;
    case CUFFT_Z2D:
      status = cufftExecZ2D(handle_, static_cast<cufftDoubleComplex*>(in),
                            static_cast<cufftDoubleReal*>(out));
      break;
  }
  check(status, "running a transform of cuFFT");
}

std::shared_ptr<const FftPlan> fft_plan(const FftPlanKey& key) {
  // A list in order of use and a map into it. Leaked for the same reason as the handles.
  using Entry = std::pair<FftPlanKey, std::shared_ptr<const FftPlan>>;
  static auto* mutex = new std::mutex;
  static auto* recent = new std::list<Entry>;
  static auto* known = new std::map<FftPlanKey, std::list<Entry>::iterator>;
  const std::lock_guard lock(*mutex);
  if (const auto found = known->find(key); found != known->end()) {
    recent->splice(recent->begin(), *recent, found->second);
    return found->second->second;
  }
  recent->emplace_front(key, std::make_shared<FftPlan>(key));
  known->emplace(key, recent->begin());
  if (recent->size() > cached_plans) {
    known->erase(recent->back().first);
    recent->pop_back();
  }
  return recent->front().second;
}

}  // namespace tessera::cuda
