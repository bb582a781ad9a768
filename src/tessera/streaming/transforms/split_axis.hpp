// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store with one axis seen as two, rows of so many columns: element (r, c) is element
// r * columns + c. The last row may be shorter; a box that reaches behind its end is refused. Boxes
// that do not hold whole rows move row by row. Private to the library.
//   StorePtr lines = split_axis(store, 0, 4096);   // (2^24) as (4096, 4096)

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

TESSERA_API StorePtr split_axis(const StorePtr& store, i64 axis, i64 columns);

// The shape and the tiles that it has.
TESSERA_API store::TileGrid split_grid(const store::TileGrid& grid, i64 axis, i64 columns);

}  // namespace tessera::streaming
