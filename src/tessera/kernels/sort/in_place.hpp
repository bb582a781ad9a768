// SPDX-License-Identifier: Apache-2.0
#pragma once
// A long row sorted in its own memory: bit for bit what sort() makes of it, with a fixed amount of
// memory beside it instead of a copy. Pieces that fit are sorted, then merged where they lie. On
// the host, somewhat slower than sort().
//   sort_in_place(x);   sort_in_place(x, 1 << 20);

#include "tessera/array/array.hpp"

namespace tessera {

// x is 1-d and dense, on the cpu (ShapeError otherwise). `room`: bytes beside it.
TESSERA_API void sort_in_place(const Array& x, i64 room = i64{32} << 20);

}  // namespace tessera
