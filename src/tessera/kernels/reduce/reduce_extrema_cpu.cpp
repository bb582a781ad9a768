// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/reduce/reduce_rows.hpp"

namespace tessera {
namespace {

template <class T>
struct MaxRule {
  using Input = T;
  using Accumulator = T;
  static constexpr bool two_inputs = false;
  static T enter(T x) { return x; }
  static T join(T a, T b) { return element::maximum{}(a, b); }
  static T identity() { return T(0); }  // never asked for: extrema of nothing are refused
};
template <class T>
struct MinRule : MaxRule<T> {
  static T join(T a, T b) { return element::minimum{}(a, b); }
};

struct AnyRule : MaxRule<bool> {
  static bool join(bool a, bool b) { return a | b; }
};
struct AllRule : MaxRule<bool> {
  static bool join(bool a, bool b) { return a & b; }
  static bool identity() { return true; }
};

// Positions: the first of the best, where a NaN is better than any number.
template <class T, class Better>
struct PositionLoops {
  struct Best {
    T value;
    i64 position;
  };
  static bool better(T x, T best) {
    return !element::has_nan(best) && (Better{}(x, best) || element::has_nan(x));
  }
  static void row(const void* a, const void*, i64 n, i64 first, void* accumulator) {
    const auto* x = static_cast<const Stored<T>*>(a);
    Best best{load_element<T>(x), first};
    for (i64 i = 1; i < n; ++i)
      if (const T v = load_element<T>(x + i); better(v, best.value)) best = {v, first + i};
    *static_cast<Best*>(accumulator) = best;
  }
  static void combine(void* left, const void* right, i64 n) {
    Best* s = static_cast<Best*>(left);
    const Best* t = static_cast<const Best*>(right);
    for (i64 j = 0; j < n; ++j)
      if (better(t[j].value, s[j].value)) s[j] = t[j];
  }
  static void finish(const void* accumulators, i64 n, void* results) {
    for (i64 j = 0; j < n; ++j)
      static_cast<i64*>(results)[j] = static_cast<const Best*>(accumulators)[j].position;
  }
  static void identity(void* accumulator) { *static_cast<Best*>(accumulator) = {T(0), 0}; }
};

template <class T, class Better>
ReduceFns positions_of() {
  using Loops = PositionLoops<T, Better>;
  return {.accumulator = sizeof(typename Loops::Best),
          .result = DType::i64,
          .row = &Loops::row,
          .combine = &Loops::combine,
          .finish = &Loops::finish,
          .identity = &Loops::identity};
}

}  // namespace

ReduceFns reduce_extrema(ReduceOp op, DType work) {
  ReduceFns f;
  dispatch<TESSERA_WORK_TYPES>(work, "reduce", [&]<class T>() {
    switch (op) {
      case ReduceOp::max: f = fns_of<MaxRule<T>>(); break;
      case ReduceOp::min: f = fns_of<MinRule<T>>(); break;
      case ReduceOp::argmax: f = positions_of<T, element::greater>(); break;
      case ReduceOp::argmin: f = positions_of<T, element::less>(); break;
      case ReduceOp::any: f = fns_of<AnyRule>(); break;
      default: f = fns_of<AllRule>(); break;
    }
  });
  return f;
}

}  // namespace tessera
