// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms of stores that memory does not hold: passes over strips of whole lines
// (transform_layout.hpp), each byte read and written once in each of them. Stores between passes lie
// beside the output until it is there; inputs stay as they are. A run may begin at any strip.
//   StreamPlan p = plan_transform(spec, from, to, make_scratch, {.budget = 1 << 30});   p.run();

#include "tessera/streaming/transforms/transform_layout.hpp"

namespace tessera::streaming {

// `to` has the shape and the dtype of the spec's result. A store "passK" is asked for after each pass
// K but the last.
TESSERA_API StreamPlan plan_transform(const TransformSpec& spec, const StorePtr& from,
                                      const StorePtr& to, const MakeScratch& scratch,
                                      const Options& options = {});
// Names of the stores that a transform of so many stages may ask for.
TESSERA_API std::vector<std::string> scratch_of_transform(const TransformSpec& spec);

// to = from with the second half of each of the axes in front (fftshift), or the first half behind
// (inverse).
TESSERA_API StreamPlan plan_shift(const StorePtr& from, const StorePtr& to, const Shape& axes,
                                  bool inverse, const Options& options = {});

}  // namespace tessera::streaming
