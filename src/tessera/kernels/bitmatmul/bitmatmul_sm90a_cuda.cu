// SPDX-License-Identifier: Apache-2.0
// Compiled for sm_90a alone (cmake/Cuda.cmake): whoever calls has looked at the device.
#include "tessera/kernels/bitmatmul/bits.cuh"
#include "tessera/kernels/bitmatmul/wgmma.cuh"

namespace tessera::cuda {
namespace {

wgmma::EncodeTiled encode_function() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                             12000, cudaEnableDefault, &result);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  const bool ok = error == cudaSuccess && result == cudaDriverEntryPointSuccess;
  return ok ? reinterpret_cast<wgmma::EncodeTiled>(found) : nullptr;
}

}  // namespace

bool start_wgmma_counts(const BitCountArgs& args, bool wide, int processors, cudaStream_t stream) {
  static const wgmma::EncodeTiled encode = encode_function();
  if (encode == nullptr) return false;
  return wide ? launch_wgmma_counts<std::int64_t>(args, encode, processors, stream)
              : launch_wgmma_counts<std::int32_t>(args, encode, processors, stream);
}

}  // namespace tessera::cuda
