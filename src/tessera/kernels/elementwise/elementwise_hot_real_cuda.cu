// SPDX-License-Identifier: Apache-2.0
// The operations that run at the speed of the memory: float and double, and plain copies of any
// dtype.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {
namespace {

template <class T>
HotLaunches hot_of(ElementOp op) {
  switch (op) {
    case ElementOp::negative: return hot_launches<element::negative, T>();
    case ElementOp::square: return hot_launches<element::square, T>();
    case ElementOp::add: return hot_launches<element::add, T>();
    case ElementOp::subtract: return hot_launches<element::subtract, T>();
    case ElementOp::multiply: return hot_launches<element::multiply, T>();
    case ElementOp::divide: return hot_launches<element::divide, T>();
    case ElementOp::multiply_add: return hot_launches<element::multiply_add, T>();
    default: return {};
  }
}

}  // namespace

HotLaunches find_hot_real(ElementOp op, DType t) {
  if (t == DType::f32) return hot_of<float>(op);
  if (t == DType::f64) return hot_of<double>(op);
  return {};
}

HotLaunches find_hot_copy(i64 element_bytes) {
  switch (element_bytes) {
    case 1: return hot_launches<element::copy, std::uint8_t>();
    case 2: return hot_launches<element::copy, std::uint16_t>();
    case 4: return hot_launches<element::copy, std::uint32_t>();
    case 8: return hot_launches<element::copy, std::uint64_t>();
    default: return hot_launches<element::copy, c128>();
  }
}

}  // namespace tessera::cuda
