// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/reduce/reduce_extremum.hpp"
#include "tessera/kernels/reduce/reduce_truths.hpp"

namespace tessera {
namespace {

template <class Rule>
struct ExtremumLoops : ReduceLoops<Rule> {
  using T = typename Rule::Input;
  static void row(const void* a, const void*, i64 n, i64, void* accumulator) {
    wide([=] { *static_cast<T*>(accumulator) = extremum<Rule>(static_cast<const T*>(a), n); });
  }
  static void lanes_of(const void* a, const void* b, i64 n, void* accumulators) {
    const T* x = static_cast<const T*>(a);
    T* s = static_cast<T*>(accumulators);
    i64 j = 0;
#if defined(__aarch64__)
    if constexpr (std::is_floating_point_v<T>)
      for (; j + lanes<T> <= n; j += lanes<T>) {
        const Register<T> u = load_register(s + j), v = load_register(x + j);
        store_register<T>(s + j, in_register(typename Rule::Better{}, u, v));
      }
#endif
    ReduceLoops<Rule>::lanes(x + j, b, n - j, s + j);
  }
};

template <class Rule>
ReduceFns extrema_of() {
  using T = typename Rule::Input;
  if constexpr (std::is_same_v<T, bool>) {
    return truth_fns<TruthLoops<bool, Rule::largest>>(1, DType::b1);
  } else if constexpr (is_complex_v<T>) {
    return fns_of<Rule>();
  } else {
    ReduceFns f = fns_of<Rule>();
    f.row = &ExtremumLoops<Rule>::row;
    f.lanes = &ExtremumLoops<Rule>::lanes_of;
    return f;
  }
}

}  // namespace

ReduceFns reduce_extrema(ReduceOp op, DType work) {
  ReduceFns f;
  dispatch<TESSERA_WORK_TYPES>(work, "reduce", [&]<class T>() {
    switch (op) {
      case ReduceOp::max: f = extrema_of<MaxRule<T>>(); break;
      case ReduceOp::min: f = extrema_of<MinRule<T>>(); break;
      case ReduceOp::any: f = truth_fns<TruthLoops<TruthOf<T>, true>>(1, DType::b1); break;
      default: f = truth_fns<TruthLoops<TruthOf<T>, false>>(1, DType::b1); break;
    }
  });
  return f;
}

}  // namespace tessera
