// SPDX-License-Identifier: Apache-2.0
// Arithmetic and mathematics of complex numbers.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {

GenericLaunch find_generic_complex(ElementFamily f, DType compute, ElementOp op) {
  const auto in_type = [&]<class T>() -> GenericLaunch {
    if (f == ElementFamily::arith) return generic_if_known<ElementFamily::arith, T>(op);
    if (f == ElementFamily::math) return generic_if_known<ElementFamily::math, T>(op);
    if (f == ElementFamily::real_math) return generic_if_known<ElementFamily::real_math, T>(op);
    return nullptr;
  };
  if (compute == DType::c64) return in_type.operator()<c64>();
  if (compute == DType::c128) return in_type.operator()<c128>();
  return nullptr;
}

}  // namespace tessera::cuda
