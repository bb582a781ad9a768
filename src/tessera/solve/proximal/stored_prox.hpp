// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proximal maps of vectors on disk. What a number of the result follows from (Prox::reach) says how:
// box by box where it is that number, boxes whole along the axes of groups, block by block, and where
// all numbers are one group passes that find its length or level before the one that writes. A map
// that is a function says its passes itself (Prox::passes).

#include "tessera/solve/core/engine.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

// y = p(x, t) as steps of a plan; y may be x. `iteration` tells the number of the iteration that runs.
// Raised now, before anything runs: ArgumentError for a function without passes, which would have to
// see all of the vector, and whatever the map says against vectors of this shape and dtype. OutOfMemory
// when it runs and the budget does not hold a group along axes.
void record_on_disk(Engine& e, Recorder& r, const Prox& p, const vec::Vector& x, double t,
                    const vec::Vector& y, std::function<i64()> iteration);

}  // namespace tessera
