// SPDX-License-Identifier: Apache-2.0
// The operations that run at the speed of the memory, for complex numbers.
#include "tessera/kernels/elementwise/elementwise_cuda.cuh"

namespace tessera::cuda {
namespace {

template <class T>
HotLaunches hot_of(ElementOp op) {
  switch (op) {
    case ElementOp::negative: return hot_launches<element::negative, T>();
    case ElementOp::conj: return hot_launches<element::conj, T>();
    case ElementOp::add: return hot_launches<element::add, T>();
    case ElementOp::subtract: return hot_launches<element::subtract, T>();
    case ElementOp::multiply: return hot_launches<element::multiply, T>();
    case ElementOp::conj_multiply: return hot_launches<element::conj_multiply, T>();
    case ElementOp::divide: return hot_launches<element::divide, T>();
    case ElementOp::multiply_add: return hot_launches<element::multiply_add, T>();
    default: return {};
  }
}

}  // namespace

HotLaunches find_hot_complex(ElementOp op, DType t) {
  if (t == DType::c64) return hot_of<c64>(op);
  if (t == DType::c128) return hot_of<c128>(op);
  return {};
}

}  // namespace tessera::cuda
