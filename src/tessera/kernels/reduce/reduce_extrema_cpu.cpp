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
template <class T, class Better, class Rule>
struct PositionLoops {
  struct Best {
    T value;
    i64 position;
  };
  static bool better(T x, T best) {
    return !element::has_nan(best) && (Better{}(x, best) || element::has_nan(x));
  }
  // The best value first, by several accumulators, then its place: two quick passes over a short
  // row.
  static void row(const void* a, const void* b, i64 n, i64 first, void* accumulator) {
    const auto* x = static_cast<const Stored<T>*>(a);
    T best;
    ReduceLoops<Rule>::row(a, b, n, first, &best);
    i64 i = 0;
    if (element::has_nan(best))
      while (!element::has_nan(load_element<T>(x + i))) ++i;
    else
      while (load_element<T>(x + i) != best) ++i;
    *static_cast<Best*>(accumulator) = {best, first + i};
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

template <class T, class Better, class Rule>
ReduceFns positions_of() {
  using Loops = PositionLoops<T, Better, Rule>;
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
      case ReduceOp::argmax: f = positions_of<T, element::greater, MaxRule<T>>(); break;
      case ReduceOp::argmin: f = positions_of<T, element::less, MinRule<T>>(); break;
      case ReduceOp::any: f = fns_of<AnyRule>(); break;
      default: f = fns_of<AllRule>(); break;
    }
  });
  return f;
}

}  // namespace tessera
