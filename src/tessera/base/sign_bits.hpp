// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether any of many numbers is negative, by their sign bits alone, which every vector unit can.
//   any_negative(n, [&](i64 i) { return bits(v[i]) | (size - 1 - bits(v[i])); })   // outside

#include <cstdint>

#include "tessera/base/shape.hpp"

namespace tessera {

// of(i): number i. Four quarters side by side, since each sum waits for its last.
template <class F>
bool any_negative(i64 n, const F& of) {
  const i64 quarter = n / 4;
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  for (i64 i = 0; i < quarter; ++i) {
    a |= of(i);
    b |= of(i + quarter);
    c |= of(i + 2 * quarter);
    d |= of(i + 3 * quarter);
  }
  for (i64 i = 4 * quarter; i < n; ++i) a |= of(i);
  return static_cast<i64>(a | b | c | d) < 0;
}

}  // namespace tessera
