// SPDX-License-Identifier: Apache-2.0
// Reductions that add or multiply.
#include "tessera/kernels/reduce/reduce_cuda.cuh"

namespace tessera::cuda {
namespace {

template <class A>
struct Sum {
  using Loaded = A;
  using Acc = A;
  static constexpr bool two = false, from_first = false;
  static __device__ Acc identity() { return A(0); }
  static __device__ Acc make(A x, A, i64) { return x; }
  static __device__ Acc combine(const ReduceArgs&, const Acc& a, const Acc& b) {
    return element::add{}(a, b);
  }
  static __device__ A finish(const Acc& a) { return a; }
};

template <class A>
struct Product : Sum<A> {
  using Acc = A;
  static __device__ Acc identity() { return A(1); }
  static __device__ Acc combine(const ReduceArgs&, const Acc& a, const Acc& b) {
    return element::multiply{}(a, b);
  }
};

template <class A>
struct InnerProduct : Sum<A> {
  static constexpr bool two = true;
  static __device__ A make(A x, A y, i64) { return element::conj_multiply{}(x, y); }
};

// L: complex numbers are loaded as such, their squares are real.
template <class L>
struct SumAbs2 : Sum<std::invoke_result_t<element::abs2, L>> {
  using Loaded = L;
  using Acc = std::invoke_result_t<element::abs2, L>;
  static __device__ Acc make(L x, L, i64) { return element::abs2{}(x); }
};

}  // namespace

ReduceLaunch find_reduce_sum(const ReduceSpec& spec) {
  const DType out = spec.out.dtype;
  switch (spec.op) {
    case ReduceOp::sum:
      return with_wide_type(out, []<class A>() { return reduce_launch<Sum<A>>(); });
    case ReduceOp::prod:
      return with_wide_type(out, []<class A>() { return reduce_launch<Product<A>>(); });
    case ReduceOp::vdot:
      return with_wide_type(out, []<class A>() { return reduce_launch<InnerProduct<A>>(); });
    case ReduceOp::sum_abs2: {
      // Accumulate in the output's precision: float32 input with a float64 sum is loaded as
      // float64.
      DType loaded = spec.in.dtype;
      if (is_complex(loaded) && out == DType::f64) loaded = DType::c128;
      if (!is_complex(loaded)) loaded = out;
      return with_wide_type(loaded, []<class L>() { return reduce_launch<SumAbs2<L>>(); });
    }
    default: return {};
  }
}

}  // namespace tessera::cuda
