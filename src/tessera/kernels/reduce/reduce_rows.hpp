// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops behind ReduceFns. A Rule says how an element enters an accumulator and how two
// accumulators join; rows are taken by several independent accumulators, which g++ keeps in vector
// registers and which make the error grow with n/width instead of n. Included by the files that
// instantiate.
//   ReduceFns f = fns_of<SumRule<float>>();

#include "tessera/kernels/copy/cast_rows.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/reduce/reduce_cpu.hpp"
#include "tessera/kernels/register.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

template <class Rule>
struct ReduceLoops {
  using T = typename Rule::Input;
  using A = typename Rule::Accumulator;
  static constexpr int width = sizeof(A) <= 4 ? 16 : 8;
  // Of real numbers in long rows, four times as many: one of the widest registers would wait for
  // its last sum.
  static constexpr int long_width = is_complex_v<A> ? width : 4 * width;
  static constexpr i64 long_row = 4 * long_width;

  // Element i of the input, or of both.
  struct Reader {
    const Stored<T>* x;
    const Stored<T>* y;
    Reader(const void* a, const void* b)
        : x(static_cast<const Stored<T>*>(a)), y(static_cast<const Stored<T>*>(b)) {}
    A operator()(i64 i) const {
      if constexpr (Rule::two_inputs)
        return Rule::enter(load_element<T>(x + i), load_element<T>(y + i));
      else
        return Rule::enter(load_element<T>(x + i));
    }
    // Two rows beside each other come from the second cache faster when they are asked for.
    TESSERA_INLINE void fetch_ahead(i64 i, int many) const {
      for (int j = 0; j < many; j += 64 / static_cast<int>(sizeof(T))) {
        __builtin_prefetch(x + i + j);
        __builtin_prefetch(y + i + j);
      }
    }
  };

  // s[j] = elements j, j + many, ... of the first n; returns how many were taken.
  template <int many>
  TESSERA_INLINE static i64 take_steps(const Reader& enter, i64 n, A (&s)[many]) {
    for (int j = 0; j < many; ++j) s[j] = enter(j);
    i64 i = many;
    for (; i + many <= n; i += many) {
      if constexpr (Rule::two_inputs && many > width) enter.fetch_ahead(i + 2 * many, many);
      for (int j = 0; j < many; ++j) s[j] = Rule::join(s[j], enter(i + j));
    }
    return i;
  }
  TESSERA_INLINE static i64 take_long(const Reader& enter, i64 n, A (&s)[width]) {
    A wider[long_width];
    const i64 taken = take_steps(enter, n, wider);
    for (int j = 0; j < width; ++j) s[j] = wider[j];
    for (int k = width; k < long_width; k += width)
      for (int j = 0; j < width; ++j) s[j] = Rule::join(s[j], wider[k + j]);
    return taken;
  }

  static void row(const void* a, const void* b, i64 n, i64, void* accumulator) {
    wide([=] {
      const Reader enter(a, b);
      A* out = static_cast<A*>(accumulator);
      if (n < width) {
        A s = enter(0);
        for (i64 i = 1; i < n; ++i) s = Rule::join(s, enter(i));
        *out = s;
        return;
      }
      A s[width];
      i64 i = 0;
      if (n >= long_row)
        i = take_long(enter, n, s);
      else
        i = take_steps(enter, n, s);
      for (; i + width <= n; i += width)
        for (int j = 0; j < width; ++j) s[j] = Rule::join(s[j], enter(i + j));
      for (int j = 0; i + j < n; ++j) s[j] = Rule::join(s[j], enter(i + j));
      for (int half = width / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) s[j] = Rule::join(s[j], s[j + half]);
      *out = s[0];
    });
  }

  static void spread(const void* a, const void* b, i64 n, void* accumulators) {
    wide([=] {
      const Reader enter(a, b);
      A* s = static_cast<A*>(accumulators);
      for (i64 j = 0; j < n; ++j) s[j] = enter(j);
    });
  }
  static void lanes(const void* a, const void* b, i64 n, void* accumulators) {
    wide([=] {
      const Reader enter(a, b);
      A* s = static_cast<A*>(accumulators);
#pragma GCC ivdep
      for (i64 j = 0; j < n; ++j) s[j] = Rule::join(s[j], enter(j));
    });
  }
  static void combine(void* left, const void* right, i64 n) {
    wide([=] {
      A* s = static_cast<A*>(left);
      const A* t = static_cast<const A*>(right);
      for (i64 j = 0; j < n; ++j) s[j] = Rule::join(s[j], t[j]);
    });
  }
  static void finish(const void* accumulators, i64 n, void* results) {
    std::copy_n(static_cast<const A*>(accumulators), n, static_cast<A*>(results));
  }
  static void identity(void* accumulator) { *static_cast<A*>(accumulator) = Rule::identity(); }
};

template <class Rule>
ReduceFns fns_of() {
  using Loops = ReduceLoops<Rule>;
  return {.accumulator = sizeof(typename Rule::Accumulator),
          .result = dtype_of<typename Rule::Accumulator>,
          .row = &Loops::row,
          .spread = &Loops::spread,
          .lanes = &Loops::lanes,
          .combine = &Loops::combine,
          .finish = &Loops::finish,
          .identity = &Loops::identity};
}

// Integers of one size wrap alike, whatever their sign: one loop for both.
template <class T>
struct WithoutSign {
  using type = T;
};
template <element::Integer T>
struct WithoutSign<T> {
  using type = std::make_unsigned_t<T>;
};

#define TESSERA_WORK_TYPES                                                                  \
  bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, \
      std::uint32_t, std::uint64_t, float, double, ::tessera::c64, ::tessera::c128

}  // namespace tessera
