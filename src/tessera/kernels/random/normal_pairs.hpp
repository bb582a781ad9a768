// SPDX-License-Identifier: Apache-2.0
#pragma once
// normal_pair() for loops that g++ vectorises: no branch, no table. Private to the cpu's kernel.
//   for (i64 j = 0; j < 16; ++j) quick::normal_pair(words[j], first[j], second[j]);

#include "tessera/kernels/elementwise/math/quick_math.hpp"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera::quick {

// Sine and cosine of a part of a turn in [0, 1).
template <class R>
TESSERA_INLINE Circle<R> circle_of_turn(R turn) {
  using F = Format<R>;
  using B = typename F::Bits;
  const R quarters = 4 * turn, shifted = quarters + F::to_integer,
          r = (quarters - (shifted - F::to_integer)) * R(1.57079632679489661923), z = r * r;
  const R s = r + r * z * polynomial<false>(F::sin_terms, z);
  const R c = (1 - R(0.5) * z) + z * z * polynomial<false>(F::cos_terms, z);
  const B n = bits(shifted), odd = 0 - (n & 1);
  const B a = (bits(s) & ~odd) | (bits(c) & odd), b = (bits(c) & ~odd) | (bits(s) & odd);
  constexpr int top = 8 * sizeof(R) - 2;
  return {from_bits<R>(a ^ (n & 2) << top), from_bits<R>(b ^ ((n + 1) & 2) << top)};
}

template <class R>
TESSERA_INLINE void normal_pair(const NormalWords<R>& w, R& first, R& second) {
  const R radius = math::sqrt(R(-2) * log_normal(w.u));
  const Circle<R> at = circle_of_turn(w.turn);
  first = radius * at.cos;
  second = radius * at.sin;
}

}  // namespace tessera::quick
