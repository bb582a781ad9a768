// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of arrays that are mostly zeros around an image, or of which only the middle is kept:
// axis by axis, over the lines that matter.
//   if (can_prune(pad, fft)) record_pruned(r, pad, fft, x, y);

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// Pad and then a plain transform of the same dims, or a transform and then Crop.
bool can_prune(const NamedLinop& first, const NamedLinop& second);
void record_pruned(Recorder& r, const NamedLinop& first, const NamedLinop& second, const View& x,
                   const View& y);

}  // namespace tessera
