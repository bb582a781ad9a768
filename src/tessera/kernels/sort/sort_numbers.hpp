// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [numbers in registers]: where the host has wide registers, numbers are sorted as they are,
// not as keys. What comparisons of floats cannot tell apart is put right afterwards: NaNs take part
// as infinities, so that they end at the back, and zeros of both signs as equals; then the input
// says which NaNs and zeros belong there, in its order. Private to the cpu's sort.
//   Taken<double> t = take_numbers(in, step, x, n);   sort_taken(x, scratch, n, t);

#include <algorithm>
#include <limits>

#include "tessera/kernels/sort/sort_keys.hpp"

namespace tessera {

// Keys of NaNs say nothing of their bits, and the two zeros are one value: both go back in the
// order in which the input has them.
struct Equals {
  i64 nans = 0, first_zero = 0;
  bool zeros = false;  // of both signs
};

template <class T, class K>
Equals equals_in(const K* keys, i64 step, i64 n) {
  Equals e;
  if constexpr (!SortKey<T>::exact) {
    const auto first_from = [&](K key) {
      i64 low = 0;
      for (i64 left = n; left > 0;) {
        const i64 half = (left + 1) / 2;
        low += keys[(low + half - 1) * step] < key ? half : 0;
        left -= half;
      }
      return low;
    };
    const K negative = SortKey<T>::key(T(-0.0f), false), positive = SortKey<T>::key(T(0.0f), false);
    e.first_zero = first_from(negative);
    if (e.first_zero < n && keys[e.first_zero * step] == negative) {
      const i64 next = first_from(positive);
      e.zeros = next < n && keys[next * step] == positive;
    }
    if (keys[(n - 1) * step] == K(~K(0))) e.nans = n - first_from(K(~K(0)));
  }
  return e;
}

template <class T>
void restore(const Equals& e, const T* in, i64 in_step, T* out, i64 out_step, i64 n) {
  using S = SortKey<T>;
  if constexpr (!S::exact) {
    if (e.nans == 0 && !e.zeros) return;
    i64 nan_at = n - e.nans, zero_at = e.first_zero;
    for (i64 i = 0; i < n; ++i) {
      const T v = in[i * in_step];
      if (e.nans > 0 && S::nan(v))
        out[nan_at++ * out_step] = v;
      else if (e.zeros && S::zero(v))
        out[zero_at++ * out_step] = v;
    }
  }
}

template <class T>
inline constexpr bool fits_registers = (std::is_integral_v<T> ||
                                        std::is_floating_point_v<T>)&&sizeof(T) >= 4;

template <class T>
struct Taken {
  T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();  // of integers
  bool special = false;  // floats: a NaN or a negative zero is among them

  void add(const Taken& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    special |= other.special;
  }
};

template <class T, class Step>
Taken<T> take_stepwise(const T* in, Step step, T* x, i64 n) {
  Taken<T> taken;
  if constexpr (std::is_floating_point_v<T>) {
    using S = SortKey<T>;
    using K = typename S::Key;
    K special = 0;
    wide([=, &special] {
      K found = 0;
      for (i64 i = 0; i < n; ++i) {
        const T v = in[i * step];
        found |= static_cast<K>(S::nan(v)) | static_cast<K>(S::bits(v) == S::sign);
        x[i] = S::nan(v) ? std::numeric_limits<T>::infinity() : v;
      }
      special = found;
    });
    taken.special = special != 0;
  } else {
    wide([=, &taken] {
      T least = taken.least, most = taken.most;
      for (i64 i = 0; i < n; ++i) {
        const T v = in[i * step];
        least = std::min(least, v);
        most = std::max(most, v);
        x[i] = v;
      }
      taken.least = least;
      taken.most = most;
    });
  }
  return taken;
}
template <class T>
Taken<T> take_numbers(const T* in, i64 step, T* x, i64 n) {
  if (step == 1) return take_stepwise(in, std::integral_constant<i64, 1>{}, x, n);
  return take_stepwise(in, step, x, n);
}

template <class T>
void sort_taken(T* x, T* scratch, i64 n, const Taken<T>& taken) {
  if constexpr (std::is_integral_v<T>) {
    using K = std::make_unsigned_t<T>;
    const int bits = static_cast<int>(
        std::bit_width(static_cast<K>(static_cast<K>(taken.most) - static_cast<K>(taken.least))));
    if (worth_counting<T>(n, bits))
      return counting_sort(x, reinterpret_cast<K*>(scratch), n, taken.least, i64{1} << bits);
  }
  if (!sort_in_wide_registers(x, n)) std::sort(x, x + n);  // prepared for another host
}

// Which of the sorted numbers the input must put right.
template <class T>
Equals equals_among(const T* in, i64 step, const T* sorted, i64 n) {
  Equals e;
  if constexpr (std::is_floating_point_v<T>) {
    using S = SortKey<T>;
    e.zeros = true;
    e.first_zero = std::partition_point(sorted, sorted + n,
                                        [](T v) { return S::negative(v) && !S::zero(v); }) -
                   sorted;
    for (i64 i = 0; i < n; ++i) e.nans += S::nan(in[i * step]);
  }
  return e;
}

}  // namespace tessera
