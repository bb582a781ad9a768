// SPDX-License-Identifier: Apache-2.0
#pragma once
// The largest and the smallest of a row of real numbers, where a NaN is larger and smaller than any
// number. Private to the cpu's reductions.
//   double most = extremum<MaxRule<double>>(x, n);

#include "tessera/kernels/elementwise/math/register_ops.hpp"
#include "tessera/kernels/reduce/reduce_rows.hpp"

namespace tessera {

template <class T>
struct MaxRule {
  using Input = T;
  using Accumulator = T;
  using Better = element::maximum;
  static constexpr bool two_inputs = false, largest = true;
  static T enter(T x) { return x; }
  static T join(T a, T b) { return element::maximum{}(a, b); }
  static T identity() { return T(0); }  // never asked for: extrema of nothing are refused
};
template <class T>
struct MinRule : MaxRule<T> {
  using Better = element::minimum;
  static constexpr bool largest = false;
  static T join(T a, T b) { return element::minimum{}(a, b); }
};

// s[j] = step(x[j], x[width + j], ...) of n >= width elements by as many accumulators as fill four
// of the widest registers; the last `width` elements enter a second time.
template <i64 width, class T>
TESSERA_INLINE void by_accumulators(const T* x, i64 n, T (&s)[width], auto step) {
  for (i64 j = 0; j < width; ++j) s[j] = x[j];
  for (i64 i = width; i + width <= n; i += width)
    for (i64 j = 0; j < width; ++j) s[j] = step(s[j], x[i + j]);
  const T* last = x + n - width;
  for (i64 j = 0; j < width; ++j) s[j] = step(s[j], last[j]);
}

// Whether one of them is not a number. Noted in elements of their width, as registers compare them.
template <class T>
TESSERA_INLINE bool any_nan([[maybe_unused]] const T* x, [[maybe_unused]] i64 n) {
  if constexpr (std::is_floating_point_v<T>) {
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t> found = 0;
    for (i64 i = 0; i < n; ++i) found |= x[i] != x[i];
    return found != 0;
  }
  return false;
}
// The same of long rows: a sum of all is a number only if they are, and costs a third of the
// comparisons. Where it is none they are compared: infinities of both signs do that too.
template <class T>
TESSERA_INLINE bool any_nan_by_sum([[maybe_unused]] const T* x, [[maybe_unused]] i64 n) {
  if constexpr (std::is_floating_point_v<T>) {
    T sum[256 / sizeof(T)];
    by_accumulators(x, n, sum, [](T s, T v) { return s + v; });
    return any_nan(sum, 256 / sizeof(T)) && any_nan(x, n);
  }
  return false;
}

// The extremum of n > 0 elements, all in the first cache. NaNs are looked for beside it, which
// costs less than to choose them each time.
template <class Rule>
TESSERA_INLINE typename Rule::Input extremum_of_part(const typename Rule::Input* x, i64 n) {
  using T = typename Rule::Input;
  constexpr i64 width = 256 / sizeof(T);
  const auto better = [](T a, T b) { return Rule::largest ? (a > b ? a : b) : (a < b ? a : b); };
  if (n < width) {
    T all = x[0];
    for (i64 i = 1; i < n; ++i) all = better(x[i], all);
    return any_nan(x, n) ? std::numeric_limits<T>::quiet_NaN() : all;
  }
  if (any_nan_by_sum(x, n)) return std::numeric_limits<T>::quiet_NaN();
  T s[width];
  by_accumulators(x, n, s, [better](T all, T v) { return better(v, all); });
  for (i64 j = 0; j < width / 2; ++j) s[j] = better(s[j + width / 2], s[j]);
  for (i64 j = 0; j < width / 4; ++j) s[j] = better(s[j + width / 4], s[j]);
  T all = s[0];
  for (i64 j = 1; j < width / 4; ++j) all = better(s[j], all);
  return all;
}

#if defined(__aarch64__)
template <class Rule>
typename Rule::Input extremum_in_registers(const typename Rule::Input* x, i64 n) {
  using T = typename Rule::Input;
  constexpr i64 together = 8, width = together * lanes<T>;
  const auto better = [](const Register<T>& a, const Register<T>& b) {
    return in_register(typename Rule::Better{}, a, b);
  };
  if (n < width) {
    T all = x[0];
    for (i64 i = 1; i < n; ++i) all = Rule::join(all, x[i]);
    return all;
  }
  Register<T> best[together];
  for (i64 k = 0; k < together; ++k) best[k] = load_register(x + k * lanes<T>);
  const auto add = [&](const T* from) {
#pragma GCC unroll 8
    for (i64 k = 0; k < together; ++k)
      best[k] = better(best[k], load_register(from + k * lanes<T>));
  };
  for (i64 i = width; i + width <= n; i += width) add(x + i);
  add(x + n - width);  // some a second time, which changes nothing
  for (i64 half = together / 2; half > 0; half /= 2)
    for (i64 k = 0; k < half; ++k) best[k] = better(best[k], best[k + half]);
  T all = best[0][0];
  for (int l = 1; l < lanes<T>; ++l) all = Rule::join(all, best[0][l]);
  return all;
}
#endif

template <class Rule>
TESSERA_INLINE typename Rule::Input extremum(const typename Rule::Input* x, i64 n) {
  using T = typename Rule::Input;
#if defined(__aarch64__)
  if constexpr (std::is_floating_point_v<T>) return extremum_in_registers<Rule>(x, n);
#endif
  constexpr i64 part = 16384 / sizeof(T);
  T all = extremum_of_part<Rule>(x, std::min(part, n));
  for (i64 i = part; i < n; i += part)
    all = Rule::join(all, extremum_of_part<Rule>(x + i, std::min(part, n - i)));
  return all;
}

}  // namespace tessera
