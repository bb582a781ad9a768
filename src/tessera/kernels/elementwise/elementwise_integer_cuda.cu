// SPDX-License-Identifier: Apache-2.0
// Arithmetic and bits of integers and truth values, computed in 64 bits; narrow results wrap when
// stored.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {

GenericLaunch find_generic_integer(ElementFamily f, DType compute, ElementOp op) {
  const auto in_type = [&]<class T>() -> GenericLaunch {
    if (f == ElementFamily::arith) return generic_if_known<ElementFamily::arith, T>(op);
    if (f == ElementFamily::bits) return generic_if_known<ElementFamily::bits, T>(op);
    if (f == ElementFamily::math) return generic_if_known<ElementFamily::math, T>(op);
    return nullptr;
  };
  if (compute == DType::b1) return in_type.operator()<bool>();
  if (compute == DType::i64) return in_type.operator()<std::int64_t>();
  if (compute == DType::u64) return in_type.operator()<std::uint64_t>();
  return nullptr;
}

}  // namespace tessera::cuda
