// SPDX-License-Identifier: Apache-2.0
#pragma once
// One pass over vectors on disk of one shape and dtype: boxes of all of them are in memory at a
// time, a function works on their numbers, and those that it changes are written back. Complex
// numbers with real factors are swept as twice as many real ones. Private to the library.
//   StreamPlan p = plan_sweep("x += a p", {{x, true}, {p, false}}, [&](auto box) { … });   p.run();

#include <functional>
#include <span>

#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::solve_stored {

struct SweptVector {
  streaming::StorePtr store;
  bool changed = false;
};

// The numbers of a box, vector by vector.
template <class T>
struct Swept {
  std::vector<T*> vectors;
  i64 count;
};
// Called for each box with float or double.
struct SweepWork {
  std::function<void(const Swept<float>&)> single;
  std::function<void(const Swept<double>&)> twice;
};
template <class F>
SweepWork sweep_work(F f) {
  return {f, f};
}

// DTypeError for vectors that are neither float32, float64 nor complex of these.
streaming::StreamPlan plan_sweep(std::string title, const std::vector<SweptVector>& vectors,
                                 const SweepWork& work);

}  // namespace tessera::solve_stored
