// SPDX-License-Identifier: Apache-2.0
#pragma once
// Neighbouring columns of an array as lines, and back: as many as a register has lanes, in squares
// that are transposed in registers. Lines are n keys long and follow each other. Where rows do not
// begin on lines of the cache a row's keys lie on two of them; both are asked for ahead, as no
// processor foresees so long steps. Private to the cpu's sort.
//   lines_of_columns<PlainLanes<std::uint64_t, 8>>(table, row_step, rows, lines);

#include <algorithm>

#include "tessera/kernels/sort/networks.hpp"

namespace tessera {

inline constexpr i64 rows_ahead = 16;

// lines[c * n + i] = from[i * step + c]
template <class V>
TESSERA_OVER_LANES inline void lines_of_columns(const typename V::Key* from, i64 step, i64 n,
                                                typename V::Key* lines) {
  constexpr i64 lanes = V::lanes;
  for (i64 i = 0; i < n; i += lanes) {
    const i64 rows = std::min(lanes, n - i);
    V v[lanes];
#pragma GCC unroll 16
    for (i64 k = 0; k < lanes; ++k) {
      const auto* const row = from + (i + std::min(k, rows - 1)) * step;
      __builtin_prefetch(row + rows_ahead * step);
      __builtin_prefetch(row + rows_ahead * step + lanes - 1);
      v[k] = V::load(row);
    }
    transpose_square(v);
#pragma GCC unroll 16
    for (i64 k = 0; k < lanes; ++k) V::store_first(lines + k * n + i, v[k], rows);
  }
}

// to[i * step + c] = lines[c * n + i]
template <class V>
TESSERA_OVER_LANES inline void columns_of_lines(const typename V::Key* lines, i64 n,
                                                typename V::Key* to, i64 step) {
  constexpr i64 lanes = V::lanes;
  for (i64 i = 0; i < n; i += lanes) {
    const i64 rows = std::min(lanes, n - i);
    V v[lanes];
#pragma GCC unroll 16
    for (i64 k = 0; k < lanes; ++k) v[k] = V::load_first(lines + k * n + i, rows);
    transpose_square(v);
#pragma GCC unroll 16
    for (i64 k = 0; k < lanes; ++k) {
      auto* const row = to + (i + k) * step;
      __builtin_prefetch(row + rows_ahead * step, 1);
      __builtin_prefetch(row + rows_ahead * step + lanes - 1, 1);
      if (k < rows) V::store(row, v[k]);
    }
  }
}

}  // namespace tessera
