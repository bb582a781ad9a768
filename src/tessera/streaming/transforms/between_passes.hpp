// SPDX-License-Identifier: Apache-2.0
#pragma once
// In which tiles numbers lie between two passes of a transform, so that both move whole ones, and
// how well strips go along the tiles that are there. Private to the library.
//   Shape tile = tiles_between(pass, next, shape);

#include "tessera/streaming/transforms/transform_pass.hpp"

namespace tessera::streaming {

Shape tiles_between(const TransformPass& writer, const TransformPass& reader, const Shape& shape);
// Of about so many bytes.
Shape tiles_of_result(const TransformPass& writer, const Shape& shape, i64 bytes);
// How often the source is read for the strips of a pass, as far as time goes: 1 where runs are long.
double slices_of_tiles(const TransformPass& reader, const store::TileStore& source);

}  // namespace tessera::streaming
