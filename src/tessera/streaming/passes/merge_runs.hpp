// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorted runs on disk become one, in memory of a fixed size: a window of each run is read ahead,
// what comes before everything that is not in memory yet is merged and written while the windows
// are filled again. It can be stopped on its way, and begun again from what was taken of each run.
// Private to the library.
//   RunMerge merge({from, at}, {to, at}, 0, {100, 100, 57}, {}, memory, width);
//   merge.run_until(128);   std::vector<i64> taken = merge.taken();   merge.run_until(257);

#include <array>
#include <memory>
#include <vector>

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// A row of a store along the last axis.
struct StoredLine {
  StorePtr store;
  Shape at;  // indices of the other axes
  Box box(i64 begin, i64 length) const;
};

class RunMerge {
 public:
  // Runs of these lengths, one behind the other from element `begin` of a row, into the same
  // elements of another; `taken` of each are there already (empty: none). `memory`: four rows of as
  // many elements as all windows of `width` have together.
  RunMerge(StoredLine from, StoredLine to, i64 begin, const std::vector<i64>& lengths,
           const std::vector<i64>& taken, const std::array<Array, 4>& memory, i64 width);
  ~RunMerge();  // nobody moves the memory's bytes when this is gone
  RunMerge(const RunMerge&) = delete;
  RunMerge& operator=(const RunMerge&) = delete;

  // Goes on until at least so many of all elements are in their place, written; then nothing is
  // under way.
  void run_until(i64 count);
  std::vector<i64> taken() const;  // of each run

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::streaming
