// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/blas.hpp"
#include "tessera/kernels/reduce/reduce_rows.hpp"
#include "tessera/kernels/reduce/reduce_truths.hpp"

namespace tessera {
namespace {

template <class T>
struct SumRule {
  using Input = T;
  using Accumulator = T;
  static constexpr bool two_inputs = false;
  static T enter(T x) { return x; }
  static T join(T a, T b) { return element::add{}(a, b); }
  static T identity() { return T(0); }
};

template <class T>
struct ProductRule : SumRule<T> {
  static T join(T a, T b) { return element::multiply{}(a, b); }
  static T identity() { return T(1); }
};

template <class T>
struct SquaresRule : SumRule<decltype(element::abs2{}(T{}))> {
  using Input = T;
  static auto enter(T x) { return element::abs2{}(x); }
};

template <class T>
struct VdotRule : SumRule<T> {
  static constexpr bool two_inputs = true;
  static T enter(T x, T y) { return element::conj_multiply{}(x, y); }
};

// Of float32 in float64: an element is widened when it enters, so that no row is cast beforehand.
template <class Rule>
struct Widened : SumRule<double> {
  using Input = float;
  static constexpr bool two_inputs = Rule::two_inputs;
  static double enter(float x) { return Rule::enter(static_cast<double>(x)); }
  static double enter(float x, float y) {
    return Rule::enter(static_cast<double>(x), static_cast<double>(y));
  }
};

template <template <class> class Rule>
ReduceFns sums_of(DType work) {
  ReduceFns f;
  dispatch<TESSERA_WORK_TYPES>(work, "reduce", [&]<class T>() {
    f = fns_of<Rule<typename WithoutSign<T>::type>>();
    f.result = dtype_of<typename Rule<T>::Accumulator>;
  });
  return f;
}

// OpenBLAS reads two rows faster than our loops do. A leaf is short enough for it to stay on the
// calling thread.
template <class T>
void dot_row(const void* a, const void* b, i64 n, i64, void* accumulator) {
  *static_cast<T*>(accumulator) =
      blas::dot<T>(n, static_cast<const T*>(a), 1, false, static_cast<const T*>(b), 1, false);
}

ReduceFns dots_of(DType work) {
  ReduceFns f = sums_of<VdotRule>(work);
  if (work == DType::f32) f.row = &dot_row<float>;
  if (work == DType::f64) f.row = &dot_row<double>;
  return f;
}

ReduceFns counts_of(DType work) {
  ReduceFns f;
  dispatch<TESSERA_WORK_TYPES>(work, "reduce", [&]<class T>() {
    f = truth_fns<CountLoops<TruthOf<T>>>(sizeof(i64), DType::i64);
  });
  return f;
}

}  // namespace

ReduceFns widened_sums(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return fns_of<Widened<SumRule<double>>>();
    case ReduceOp::sum_abs2: return fns_of<Widened<SquaresRule<double>>>();
    default: return fns_of<Widened<VdotRule<double>>>();
  }
}

ReduceFns reduce_sums(ReduceOp op, DType work) {
  switch (op) {
    case ReduceOp::sum: return sums_of<SumRule>(work);
    case ReduceOp::prod: return sums_of<ProductRule>(work);
    case ReduceOp::sum_abs2: return sums_of<SquaresRule>(work);
    case ReduceOp::vdot: return dots_of(work);
    default: return counts_of(work);
  }
}

}  // namespace tessera
