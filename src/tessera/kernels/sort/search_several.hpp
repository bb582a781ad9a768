// SPDX-License-Identifier: Apache-2.0
#pragma once
// Binary searches of several values side by side in one sorted line of host memory, for kernels that
// ask where many values lie.
//   search_several<true>(Sorted<double>{edges, n, 1}, values, places);   // how many are <= each

#include <algorithm>

#include "tessera/base/api.hpp"

namespace tessera {

template <class T>
struct Sorted {
  const T* first;
  i64 n, step;
  T operator[](i64 i) const { return first[i * step]; }
};

// Several values at once, none of them NaN: their searches take the same steps, without branches
// that could be foreseen wrongly, and do not wait for one another's memory. What they are compared
// with may be NaN, which is behind all of them.
inline constexpr i64 at_once = 16;
template <bool right, class T, class C>
void search_several(const Sorted<T>& x, const C* values, i64* low) {
  const auto passed = [&](i64 at, i64 k) {
    const C there = static_cast<C>(x[at]);
    return right ? there <= values[k] : there < values[k];
  };
  std::fill(low, low + at_once, i64{0});
  for (i64 left = x.n; left > 1;) {
    const i64 half = left / 2;
    for (i64 k = 0; k < at_once; ++k) low[k] += half & -i64{passed(low[k] + half - 1, k)};
    left -= half;
  }
  for (i64 k = 0; k < at_once; ++k) low[k] += passed(low[k], k);
}

}  // namespace tessera
