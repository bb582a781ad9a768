// SPDX-License-Identifier: Apache-2.0
// Reductions that compare: extrema, their positions, truth values and their number.
#include "tessera/kernels/reduce/reduce_cuda.cuh"

namespace tessera::cuda {
namespace {

// Combining an element with itself changes nothing, so every thread may start with the first one.
template <class T>
struct Extreme {
  using Loaded = T;
  using Acc = T;
  static constexpr bool two = false, from_first = true;
  static __device__ Acc make(T x, T, i64) { return x; }
  static __device__ Acc combine(const ReduceArgs& args, const Acc& a, const Acc& b) {
    return args.greater ? element::maximum{}(a, b) : element::minimum{}(a, b);
  }
  static __device__ T finish(const Acc& a) { return a; }
};

template <class T>
struct Place {
  T value;
  i64 position;
};

// The first of equal elements; a NaN counts as the extreme, the first NaN wins.
template <class T>
struct ExtremePlace {
  using Loaded = T;
  using Acc = Place<T>;
  static constexpr bool two = false, from_first = true;
  static __device__ Acc make(T x, T, i64 position) { return {x, position}; }
  static __device__ Acc combine(const ReduceArgs& args, const Acc& a, const Acc& b) {
    const bool a_nan = element::has_nan(a.value), b_nan = element::has_nan(b.value);
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan) {
      const bool a_first =
          args.greater ? element::greater{}(a.value, b.value) : element::less{}(a.value, b.value);
      const bool b_first =
          args.greater ? element::greater{}(b.value, a.value) : element::less{}(b.value, a.value);
      if (a_first != b_first) return a_first ? a : b;
    }
    return a.position <= b.position ? a : b;
  }
  static __device__ i64 finish(const Acc& a) { return a.position; }
};

struct Any {
  using Loaded = bool;
  using Acc = std::int32_t;
  static constexpr bool two = false, from_first = false;
  static __device__ Acc identity() { return 0; }
  static __device__ Acc make(bool x, bool, i64) { return x; }
  static __device__ Acc combine(const ReduceArgs&, Acc a, Acc b) { return a | b; }
  static __device__ bool finish(Acc a) { return a != 0; }
};
struct All : Any {
  static __device__ Acc identity() { return 1; }
  static __device__ Acc combine(const ReduceArgs&, Acc a, Acc b) { return a & b; }
};

struct Count {
  using Loaded = bool;
  using Acc = i64;
  static constexpr bool two = false, from_first = false;
  static __device__ Acc identity() { return 0; }
  static __device__ Acc make(bool x, bool, i64) { return x; }
  static __device__ Acc combine(const ReduceArgs&, Acc a, Acc b) { return a + b; }
  static __device__ i64 finish(Acc a) { return a; }
};

}  // namespace

ReduceLaunch find_reduce_order(const ReduceSpec& spec) {
  switch (spec.op) {
    case ReduceOp::max:
    case ReduceOp::min:
      return with_wide_type(spec.in.dtype, []<class T>() { return reduce_launch<Extreme<T>>(); });
    case ReduceOp::argmax:
    case ReduceOp::argmin:
      return with_wide_type(spec.in.dtype,
                            []<class T>() { return reduce_launch<ExtremePlace<T>>(); });
    case ReduceOp::any: return reduce_launch<Any>();
    case ReduceOp::all: return reduce_launch<All>();
    case ReduceOp::count_nonzero: return reduce_launch<Count>();
    default: return {};
  }
}

}  // namespace tessera::cuda
