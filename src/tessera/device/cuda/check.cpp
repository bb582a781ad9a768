// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cuda/check.hpp"

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

const char* name_of(cufftResult status) {
  switch (status) {
    case CUFFT_INVALID_PLAN: return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED: return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_TYPE: return "CUFFT_INVALID_TYPE";
    case CUFFT_INVALID_VALUE: return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR: return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED: return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED: return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE: return "CUFFT_INVALID_SIZE";
    case CUFFT_INVALID_DEVICE: return "CUFFT_INVALID_DEVICE";
    case CUFFT_NO_WORKSPACE: return "CUFFT_NO_WORKSPACE";
    case CUFFT_NOT_IMPLEMENTED: return "CUFFT_NOT_IMPLEMENTED";
    case CUFFT_NOT_SUPPORTED: return "CUFFT_NOT_SUPPORTED";
    default: return "unknown status";
  }
}

}  // namespace

int gpu_of(int index) noexcept {
  static const int gpus = [] {
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess && n > 0 ? n : 1;
  }();
  return index % gpus;
}

bool context_lost(cudaError_t error) noexcept {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
    case cudaErrorMpsClientTerminated:
    case cudaErrorUnknown: return true;
    default: return false;
  }
}

void throw_cuda(cudaError_t error, std::string_view doing) {
  cudaGetLastError();  // errors that do not poison the context must not be reported a second time
  const std::string text =
      cat("cuda: ", doing, ": ", cudaGetErrorName(error), " (", cudaGetErrorString(error), ")");
  if (error == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  if (context_lost(error))
    throw DeviceError(
        cat(text,
            "; the CUDA context is lost: results on the device are gone and the process "
            "must be started again"));
  if (error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread)
    throw PlanError(text);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) throw NotAvailable(text);
  throw BackendError(text);
}

void throw_cublas(cublasStatus_t status, std::string_view doing) {
  const cudaError_t pending = cudaPeekAtLastError();
  if (context_lost(pending)) throw_cuda(pending, doing);
  const std::string text = cat("cuda: ", doing, ": ", cublasGetStatusName(status), " (",
                               cublasGetStatusString(status), ")");
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(text);
  throw BackendError(text);
}

void throw_cufft(cufftResult status, std::string_view doing) {
  const cudaError_t pending = cudaPeekAtLastError();
  if (context_lost(pending)) throw_cuda(pending, doing);
  const std::string text = cat("cuda: ", doing, ": ", name_of(status));
  if (status == CUFFT_ALLOC_FAILED) throw OutOfMemory(text);
  throw BackendError(text);
}

}  // namespace tessera
