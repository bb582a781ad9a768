// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "tessera/kernels/reduce/reduce_rows.hpp"
#include "tessera/kernels/reduce/reduce_truths.hpp"

namespace tessera {
namespace {

template <class T>
struct MaxRule {
  using Input = T;
  using Accumulator = T;
  static constexpr bool two_inputs = false, largest = true;
  static T enter(T x) { return x; }
  static T join(T a, T b) { return element::maximum{}(a, b); }
  static T identity() { return T(0); }  // never asked for: extrema of nothing are refused
};
template <class T>
struct MinRule : MaxRule<T> {
  static constexpr bool largest = false;
  static T join(T a, T b) { return element::minimum{}(a, b); }
};

#if defined(__aarch64__)
// One instruction each, which passes NaNs on.
TESSERA_INLINE Register<double> larger(Register<double> a, Register<double> b) {
  return vmaxq_f64(a, b);
}
TESSERA_INLINE Register<float> larger(Register<float> a, Register<float> b) {
  return vmaxq_f32(a, b);
}
TESSERA_INLINE Register<double> smaller(Register<double> a, Register<double> b) {
  return vminq_f64(a, b);
}
TESSERA_INLINE Register<float> smaller(Register<float> a, Register<float> b) {
  return vminq_f32(a, b);
}
#endif

// Register by register what a Rule does to elements. Where instructions lose NaNs they are noted
// beside the extremum, which costs less than to choose them each time.
template <class Rule>
struct Extremum {
  using T = typename Rule::Input;
  Register<T> best;
  decltype(best == best) nans{};

  TESSERA_INLINE void add(const Register<T>& x) {
#if defined(__aarch64__)
    if constexpr (std::is_floating_point_v<T>) {
      best = Rule::largest ? larger(best, x) : smaller(best, x);
      return;
    }
#endif
    if constexpr (std::is_floating_point_v<T>) nans |= x != x;
    best = (Rule::largest ? x > best : x < best) ? x : best;
  }
  TESSERA_INLINE void add(const Extremum& other) {
    nans |= other.nans;
    add(other.best);
  }
  T result() const {
    if constexpr (std::is_floating_point_v<T>)
      if (any_lane(nans)) return std::numeric_limits<T>::quiet_NaN();
    T all = best[0];
    for (int l = 1; l < lanes<T>; ++l) all = Rule::join(all, best[l]);
    return all;
  }
};

template <class Rule>
typename Rule::Input extremum(const typename Rule::Input* x, i64 n) {
  using T = typename Rule::Input;
  constexpr i64 together = 8, width = together * lanes<T>;
  if (n < width) {
    T all = x[0];
    for (i64 i = 1; i < n; ++i) all = Rule::join(all, x[i]);
    return all;
  }
  Extremum<Rule> e[together];
  for (i64 k = 0; k < together; ++k) {
    e[k].best = load_register(x + k * lanes<T>);
    e[k].add(e[k].best);
  }
  const auto add = [&](const T* from) {
#pragma GCC unroll 8
    for (i64 k = 0; k < together; ++k) e[k].add(load_register(from + k * lanes<T>));
  };
  for (i64 i = width; i + width <= n; i += width) add(x + i);
  add(x + n - width);  // some a second time, which changes nothing
  for (i64 half = together / 2; half > 0; half /= 2)
    for (i64 k = 0; k < half; ++k) e[k].add(e[k + half]);
  return e[0].result();
}

template <class Rule>
struct ExtremumLoops : ReduceLoops<Rule> {
  using T = typename Rule::Input;
  static void row(const void* a, const void*, i64 n, i64, void* accumulator) {
    *static_cast<T*>(accumulator) = extremum<Rule>(static_cast<const T*>(a), n);
  }
  static void lanes_of(const void* a, const void* b, i64 n, void* accumulators) {
    const T* x = static_cast<const T*>(a);
    T* s = static_cast<T*>(accumulators);
    i64 j = 0;
#if defined(__aarch64__)
    if constexpr (std::is_floating_point_v<T>)
      for (; j + lanes<T> <= n; j += lanes<T>) {
        Extremum<Rule> e{load_register(s + j), {}};
        e.add(load_register(x + j));
        store_register<T>(s + j, e.best);
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

// Positions: the first of the best, where a NaN is better than any number.
template <class T, class Better, class Rule>
struct PositionLoops {
  struct Best {
    T value;
    i64 position;
  };
  static constexpr i64 part = 1024;  // elements among which the place is looked for
  static bool better(T x, T best) {
    return !element::has_nan(best) && (Better{}(x, best) || element::has_nan(x));
  }
  static T best_of(const Stored<T>* x, i64 n) {
    T best;
    if constexpr (std::is_same_v<T, bool> || is_complex_v<T>)
      ReduceLoops<Rule>::row(x, nullptr, n, 0, &best);
    else
      best = extremum<Rule>(x, n);
    return best;
  }
  // The first of n elements that is `best`, which is one of them.
  static i64 place_of(const Stored<T>* x, T best) {
    i64 i = 0;
    if (element::has_nan(best))
      while (!element::has_nan(load_element<T>(x + i))) ++i;
    else
      while (load_element<T>(x + i) != best) ++i;
    return i;
  }
  // The best value of each part first, by several accumulators; the place once, of the part that
  // has the best of all.
  static void row(const void* a, const void*, i64 n, i64 first, void* accumulator) {
    const auto* x = static_cast<const Stored<T>*>(a);
    T best = best_of(x, std::min(part, n));
    i64 begin = 0;
    for (i64 i = part; i < n; i += part)
      if (const T some = best_of(x + i, std::min(part, n - i)); better(some, best)) {
        best = some;
        begin = i;
      }
    *static_cast<Best*>(accumulator) = {best, first + begin + place_of(x + begin, best)};
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
      case ReduceOp::max: f = extrema_of<MaxRule<T>>(); break;
      case ReduceOp::min: f = extrema_of<MinRule<T>>(); break;
      case ReduceOp::argmax: f = positions_of<T, element::greater, MaxRule<T>>(); break;
      case ReduceOp::argmin: f = positions_of<T, element::less, MinRule<T>>(); break;
      case ReduceOp::any: f = truth_fns<TruthLoops<T, true>>(1, DType::b1); break;
      default: f = truth_fns<TruthLoops<T, false>>(1, DType::b1); break;
    }
  });
  return f;
}

}  // namespace tessera
