// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorted runs on disk become one, in memory of a fixed size: a window of each run is read ahead,
// what comes before everything that is not in memory yet is merged and written while the windows
// are filled again. Private to the library.
//   merge_runs({from, at}, {to, at}, 0, {100, 100, 57}, memory, width);

#include <array>
#include <vector>

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// A row of a store along the last axis.
struct StoredLine {
  StorePtr store;
  Shape at;  // indices of the other axes
  Box box(i64 begin, i64 length) const;
};

// Runs of these lengths, one behind the other from element `begin` of a row, into the same elements
// of another. `memory`: four rows of as many elements as all windows of `width` have together.
void merge_runs(const StoredLine& from, const StoredLine& to, i64 begin,
                const std::vector<i64>& lengths, const std::array<Array, 4>& memory, i64 width);

}  // namespace tessera::streaming
