// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proximal maps of vectors on disk: box by box where each number, or each group of numbers, is mapped
// by itself; the length of all of them takes a pass of its own.

#include "tessera/solve/core/engine.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

// y = p(x, t) as steps of a plan; y may be x. ArgumentError for a function, which would have to see
// all of the vector.
void record_on_disk(Engine& e, Recorder& r, const Prox& p, const vec::Vector& x, double t,
                    const vec::Vector& y);

}  // namespace tessera
