// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves of whole arrays as recorded copies and fills: an array inside a larger one, an array turned
// around its end. No kernels of their own.
//   record::place(r, x, y, {2, 0});   // y = 0 except for x, whose first element is at (2, 0)

#include "tessera/plan/recorder.hpp"

namespace tessera::record {

// y = 0 outside the part that starts at `start` and has x's shape; there it is x.
TESSERA_API void place(Recorder& r, const View& x, const View& y, const Shape& start);
// y[i] = x[i - shift], counted around the end, along each axis (NumPy's roll).
TESSERA_API void roll(Recorder& r, const View& x, const View& y, const Shape& shifts);

}  // namespace tessera::record
