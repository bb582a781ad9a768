// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/combine.hpp"

namespace tessera {
namespace {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type that a T computes in: floats for halves, unsigned for integers (wrapping is defined).
template <class T>
auto wide(T v) {
  if constexpr (is_half<T>)
    return static_cast<float>(v);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint64_t>(v);
  else
    return v;
}

template <class T>
bool is_nan(T v) {
  if constexpr (is_complex_v<T>)
    return v.re != v.re || v.im != v.im;
  else if constexpr (is_half<T>)
    return static_cast<float>(v) != static_cast<float>(v);
  else
    return v != v;
}

template <class T>
bool less(T a, T b) {
  if constexpr (is_complex_v<T>)
    return a.re < b.re || (a.re == b.re && a.im < b.im);
  else if constexpr (is_half<T>)
    return static_cast<float>(a) < static_cast<float>(b);
  else
    return a < b;
}

template <class T>
bool truth(T v) {
  if constexpr (is_complex_v<T>)
    return v.re != 0 || v.im != 0;
  else
    return wide(v) != 0;
}

template <class T>
T from_truth(bool v) {
  if constexpr (is_complex_v<T> || is_half<T>)
    return T(v ? 1.0f : 0.0f);
  else
    return static_cast<T>(v);
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else
    return static_cast<T>(wide(a) + wide(b));
}

template <class T>
T product(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else
    return static_cast<T>(wide(a) * wide(b));
}

template <class T, class F>
void each(T* into, const T* with, i64 count, F f) {
  for (i64 k = 0; k < count; ++k) into[k] = f(into[k], with[k]);
}

template <class T>
void combine_typed(T* into, const T* with, i64 count, Combine op) {
  switch (op) {
    case Combine::sum: return each(into, with, count, [](T a, T b) { return sum(a, b); });
    case Combine::prod: return each(into, with, count, [](T a, T b) { return product(a, b); });
    case Combine::min:
      return each(into, with, count,
                  [](T a, T b) { return !is_nan(a) && (is_nan(b) || less(b, a)) ? b : a; });
    case Combine::max:
      return each(into, with, count,
                  [](T a, T b) { return !is_nan(a) && (is_nan(b) || less(a, b)) ? b : a; });
    case Combine::logical_and:
      return each(into, with, count, [](T a, T b) { return from_truth<T>(truth(a) && truth(b)); });
    case Combine::logical_or:
      return each(into, with, count, [](T a, T b) { return from_truth<T>(truth(a) || truth(b)); });
  }
}

}  // namespace

void combine(void* into, const void* with, i64 count, DType dtype, Combine op) {
  dispatch<TESSERA_ALL_TYPES>(dtype, "combine", [&]<class T>() {
    combine_typed(static_cast<T*>(into), static_cast<const T*>(with), count, op);
  });
}

}  // namespace tessera
