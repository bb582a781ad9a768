// SPDX-License-Identifier: Apache-2.0
#pragma once
// From one store into another, also with other tiles or with the axes in another order: each byte
// is read once and written once. Boxes are chosen so that both sides move whole tiles where the
// budget allows it, and are as square as it allows otherwise.
//   transpose(from, to, {}, {.budget = 64 << 20});   // to[j, i] = from[i, j]

#include <optional>

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// to = from with its axes in the order `axes` (none: reversed), as Array::permute gives it.
TESSERA_API StreamPlan plan_transpose(const StorePtr& from, const StorePtr& to,
                                      const std::optional<Shape>& axes = {},
                                      const Options& options = {});
TESSERA_API StreamPlan plan_copy(const StorePtr& from, const StorePtr& to,
                                 const Options& options = {});
inline void transpose(const StorePtr& from, const StorePtr& to,
                      const std::optional<Shape>& axes = {}, const Options& options = {}) {
  plan_transpose(from, to, axes, options).run();
}
inline void copy(const StorePtr& from, const StorePtr& to, const Options& options = {}) {
  plan_copy(from, to, options).run();
}

}  // namespace tessera::streaming
