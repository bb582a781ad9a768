// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/reduce/reduce_extremum.hpp"

namespace tessera {
namespace {

// Positions: the first of the best, where a NaN is better than any number.
template <class T, class Better, class Rule>
struct PositionLoops {
  struct Best {
    T value;
    i64 position;
  };
  static constexpr i64 part = 1024;  // elements among which the place is looked for
  static constexpr bool has_extremum = !std::is_same_v<T, bool> && !is_complex_v<T>;
  static bool better(T x, T best) {
    if constexpr (std::is_floating_point_v<T>)  // without a branch
      return (best == best) & (Better{}(x, best) | (x != x));
    else
      return !element::has_nan(best) && (Better{}(x, best) || element::has_nan(x));
  }
  TESSERA_INLINE static T best_of(const Stored<T>* x, i64 n) {
    if constexpr (has_extremum) {
      return extremum<Rule>(x, n);
    } else {
      T best = load_element<T>(x);
      for (i64 i = 1; i < n; ++i) best = Rule::join(best, load_element<T>(x + i));
      return best;
    }
  }
  // The first that is `best`, which is one of n elements: found by blocks, which are compared
  // without a branch.
  TESSERA_INLINE static i64 place_of(const Stored<T>* x, i64 n, T best) {
    const auto place = [=](auto is_best) {
      constexpr i64 block = 64;
      i64 i = 0;
      for (; i + block <= n; i += block) {
        unsigned found = 0;
        for (i64 j = 0; j < block; ++j)
          found |= static_cast<unsigned>(is_best(load_element<T>(x + i + j)));
        if (found != 0) break;
      }
      while (!is_best(load_element<T>(x + i))) ++i;
      return i;
    };
    if (element::has_nan(best)) return place([](T v) { return element::has_nan(v); });
    return place([best](T v) { return v == best; });
  }
  // The best value of each part first, by several accumulators; the place once, of the part that
  // has the best of all.
  TESSERA_INLINE static Best best_with_place(const Stored<T>* x, i64 n) {
    T best = best_of(x, std::min(part, n));
    i64 begin = 0;
    for (i64 i = part; i < n; i += part)
      if (const T some = best_of(x + i, std::min(part, n - i)); better(some, best)) {
        best = some;
        begin = i;
      }
    return {best, begin + place_of(x + begin, std::min(part, n - begin), best)};
  }
  // The same in one pass, by two registers of accumulators with a place each: false where one may
  // be NaN. A sum of all says so: it is a number only if they are.
  TESSERA_INLINE static bool best_in_one_pass(const T* x, i64 n, Best& best) {
    using Place = std::conditional_t<sizeof(T) == 8, i64, std::int32_t>;
    typedef T Values __attribute__((vector_size(64), aligned(alignof(T)), may_alias));
    typedef Place Places __attribute__((vector_size(64)));
    constexpr i64 lanes = 64 / sizeof(T), width = 2 * lanes;
    // Long rows of integers need no look for NaNs: their two passes are as fast.
    constexpr i64 most = std::is_floating_point_v<T> ? i64{1} << 30 : part;
    if (n < width || n > most) return false;
    const auto* const first = reinterpret_cast<const Values*>(x);
    Values value[2] = {first[0], first[1]}, sum[2] = {first[0], first[1]};
    Places place[2] = {}, at = Places{} + static_cast<Place>(width);
    const auto add = [&](const T* from) {
#pragma GCC unroll 2
      for (int k = 0; k < 2; ++k) {
        const Values v = reinterpret_cast<const Values*>(from)[k];
        const Places better = Rule::largest ? v > value[k] : v < value[k];
        value[k] = better ? v : value[k];
        place[k] = better ? at : place[k];
        if constexpr (std::is_floating_point_v<T>) sum[k] += v;
      }
    };
    for (i64 i = width; i + width <= n; i += width, at += static_cast<Place>(width)) add(x + i);
    Place last[lanes];  // by the array: g++ fills a register lane by lane
    std::fill_n(last, lanes, static_cast<Place>(n - width));
    std::memcpy(&at, last, sizeof at);
    add(x + n - width);  // some a second time, which changes nothing
    sum[0] += sum[1];
    T all[width];
    std::memcpy(all, sum, sizeof sum[0]);
    if (any_nan(all, lanes)) return false;
    std::memcpy(all, value, sizeof value);
#pragma GCC unroll 8
    for (int half = width / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j)
        all[j] = Better{}(all[j + half], all[j]) ? all[j + half] : all[j];
    // The first place of those that hold the best, without a branch for each.
    constexpr Place none = std::numeric_limits<Place>::max();
    Place places[width];
    for (int j = 0; j < width; ++j) places[j] = static_cast<Place>(j);
    for (int k = 0; k < 2; ++k) {
      Places lane;
      std::memcpy(&lane, places + k * lanes, sizeof lane);
      place[k] = value[k] == Values{} + all[0] ? place[k] + lane : Places{} + none;
    }
    std::memcpy(places, place, sizeof place);
#pragma GCC unroll 8
    for (int half = width / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) places[j] = std::min(places[j], places[j + half]);
    best = {all[0], places[0]};
    return true;
  }
  // Narrower registers have no masks: there two passes are faster.
  static bool one_pass_in_wide_registers([[maybe_unused]] const T* x, [[maybe_unused]] i64 n,
                                         [[maybe_unused]] Best& best) {
    bool done = false;
#if defined(__x86_64__)
    if constexpr (sizeof(T) >= 4)
      if (host_instructions() == Instructions::avx512)
        run_avx512([=, &best, &done] { done = best_in_one_pass(x, n, best); });
#endif
    return done;
  }
  static void row(const void* a, const void*, i64 n, i64 first, void* accumulator) {
    const auto* x = static_cast<const Stored<T>*>(a);
    Best* best = static_cast<Best*>(accumulator);
    if constexpr (has_extremum) {
      if (!one_pass_in_wide_registers(x, n, *best)) wide([=] { *best = best_with_place(x, n); });
    } else {
      *best = best_with_place(x, n);
    }
    best->position += first;
  }
  // The best of each of n neighbouring columns, whose rows lie `step` bytes apart. Values and
  // places stand apart while rows are compared, so that registers take several at once.
  static void columns(const void* a, i64 step, i64 rows, i64 n, void* accumulators) {
    using Place = std::conditional_t<sizeof(T) == 8, i64, std::int32_t>;
    constexpr i64 most = 256;
    wide([=] {
      T value[most];
      Place place[most];
      for (i64 begin = 0; begin < n; begin += most) {
        const i64 some = std::min(most, n - begin);
        const auto row = [=](i64 r) {
          return reinterpret_cast<const T*>(static_cast<const std::byte*>(a) + r * step) + begin;
        };
        for (i64 j = 0; j < some; ++j) {
          value[j] = row(0)[j];
          place[j] = 0;
        }
        for (i64 r = 1; r < rows; ++r) {
          const T* x = row(r);
          const Place at = static_cast<Place>(r);
          for (i64 j = 0; j < some; ++j) {
            const T v = x[j];
            const bool is_better = better(v, value[j]);
            value[j] = is_better ? v : value[j];
            place[j] = is_better ? at : place[j];
          }
        }
        for (i64 j = 0; j < some; ++j)
          static_cast<Best*>(accumulators)[begin + j] = {value[j], place[j]};
      }
    });
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
  ReduceFns f{.accumulator = sizeof(typename Loops::Best),
              .result = DType::i64,
              .row = &Loops::row,
              .combine = &Loops::combine,
              .finish = &Loops::finish,
              .identity = &Loops::identity};
  if constexpr (Loops::has_extremum) f.columns = &Loops::columns;
  return f;
}

}  // namespace

ReduceFns reduce_positions(ReduceOp op, DType work) {
  ReduceFns f;
  dispatch<TESSERA_WORK_TYPES>(work, "reduce", [&]<class T>() {
    f = op == ReduceOp::argmax ? positions_of<T, element::greater, MaxRule<T>>()
                               : positions_of<T, element::less, MinRule<T>>();
  });
  return f;
}

}  // namespace tessera
