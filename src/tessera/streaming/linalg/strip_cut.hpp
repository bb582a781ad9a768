// SPDX-License-Identifier: Apache-2.0
#pragma once
// How strips of stored matrices are cut, for factorisations and solves: widths that are whole tiles
// or equal parts of one, and what a narrower strip costs, since files read the few bytes between
// its rows along. Pure arithmetic; private to the library.
//   for (const Range& r : cut_at_multiples(5, 20, 8))   // 5:8, 8:16, 16:20

#include <vector>

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

struct Range {
  i64 begin = 0, end = 0;
  i64 size() const { return end - begin; }
};

std::vector<Range> cut_at_multiples(i64 begin, i64 end, i64 by);
// Parts of equal size, as few as with parts of at most `most`.
i64 equal_parts(i64 n, i64 most);
// Widths of strips along an axis of n elements that is stored in tiles; products of more than
// `enough` terms are no faster.
std::vector<i64> strip_widths(i64 n, i64 tile, i64 enough = 1024);
// What strips of a width cost for each number that is wanted: bytes that are read along, and
// products that add few terms.
double strip_cost(i64 width, i64 tile, i64 element);

inline i64 matrix_bytes(i64 rows, i64 columns, i64 element) {
  return StreamPlan::rounded(rows * columns * element);
}

}  // namespace tessera::streaming
