// SPDX-License-Identifier: Apache-2.0
// What is not arithmetic: comparisons, logic, tests, and the real parts of numbers.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {

GenericLaunch find_generic_logic(ElementFamily f, DType compute, ElementOp op) {
  const auto in_type = [&]<class T>() -> GenericLaunch {
    if (f == ElementFamily::compare) return generic_if_known<ElementFamily::compare, T>(op);
    if (f == ElementFamily::test) return generic_if_known<ElementFamily::test, T>(op);
    if (f == ElementFamily::real_part) return generic_if_known<ElementFamily::real_part, T>(op);
    return nullptr;
  };
  if (f == ElementFamily::logic) return generic_if_known<ElementFamily::logic, bool>(op);
  switch (compute) {
    case DType::b1: return in_type.operator()<bool>();
    case DType::i64: return in_type.operator()<std::int64_t>();
    case DType::u64: return in_type.operator()<std::uint64_t>();
    case DType::f32: return in_type.operator()<float>();
    case DType::f64: return in_type.operator()<double>();
    case DType::c64: return in_type.operator()<c64>();
    case DType::c128: return in_type.operator()<c128>();
    default: return nullptr;
  }
}

}  // namespace tessera::cuda
