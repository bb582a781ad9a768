// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the elements of a strip lie in the store that a pass reads or writes. Private to the
// library.
//   for (const StripPiece& p : read_pieces(pass, box).pieces) ...

#include "tessera/streaming/transforms/transform_pass.hpp"

namespace tessera::streaming {

// A box of the store, and its elements within the dense strip.
struct StripPiece {
  Box box;
  Layout part;
};

struct PiecesRead {
  std::vector<StripPiece> pieces;
  std::vector<Layout> zeros;  // parts of the strip that the store does not have
};

// `box` in the axes of the pass: as far as a strip reaches, whole along its axes.
PiecesRead read_pieces(const TransformPass& pass, const Box& box);
std::vector<StripPiece> written_pieces(const TransformPass& pass, const Box& box);

}  // namespace tessera::streaming
