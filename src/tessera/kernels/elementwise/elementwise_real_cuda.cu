// SPDX-License-Identifier: Apache-2.0
// Arithmetic and mathematics of float and double; float16 and bfloat16 come here as float.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {

GenericLaunch find_generic_real(ElementFamily f, DType compute, ElementOp op) {
  const auto in_type = [&]<class T>() -> GenericLaunch {
    if (f == ElementFamily::arith) return generic_if_known<ElementFamily::arith, T>(op);
    if (f == ElementFamily::math) return generic_if_known<ElementFamily::math, T>(op);
    if (f == ElementFamily::real_math) return generic_if_known<ElementFamily::real_math, T>(op);
    return nullptr;
  };
  if (compute == DType::f32) return in_type.operator()<float>();
  if (compute == DType::f64) return in_type.operator()<double>();
  return nullptr;
}

}  // namespace tessera::cuda
