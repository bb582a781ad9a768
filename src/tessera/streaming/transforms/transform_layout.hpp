// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which passes a transform of a stored array takes, and in which tiles the stores between them lie.
// Axes whose lines fit the budget together share a pass. A line that does not fit is taken as a
// matrix, rows * columns points, in two passes: down its columns, and along its rows after a
// multiplication by roots of unity (the four-step algorithm, whose transpositions are part of how
// strips are read and written). Where strips would cut the source's tiles into thin slices, the
// numbers are moved into other tiles first. Nothing is read. Private to the library.
//   TransformLayout l = transform_layout(spec, *from, {.budget = 1 << 30});

#include "tessera/streaming/transforms/transform_pass.hpp"

namespace tessera::streaming {

struct TransformLayout {
  std::vector<TransformPass> passes;
  std::vector<Shape> shapes, tiles;  // of the stores that the passes write
  i64 tables = 0;                    // bytes of roots of unity, of the kernels' and of passes
};

// OutOfMemory, with the least budget, where lines fit neither whole nor in two.
TESSERA_API TransformLayout transform_layout(const TransformSpec& spec,
                                             const store::TileStore& source,
                                             const Options& options);

}  // namespace tessera::streaming
