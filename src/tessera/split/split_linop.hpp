// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator cut into a grid of tiles: sub-operators that are views of its arrays (nothing is
// copied), and for each the part of the input that it takes and of the output that it gives or adds
// to. Knows no devices.
//   SplitGrid g = split_linop(A, {{"N", 128}, {"M", 64}});
//   y[g.tiles[0].out] += g.tiles[0].op(x[g.tiles[0].in])

#include <optional>
#include <vector>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct SplitTile {
  NamedLinop op;
  // The cuts that made it; no cut for a dim that is one tile.
  Tile cuts;
  // A range for every named dim of the input and of the output whose size is known.
  Tile in, out;
};

struct TESSERA_API SplitGrid {
  Dims dims;                     // in the order given
  Shape grid;                    // tiles along each
  std::vector<SplitTile> tiles;  // row-major
  // Of the grid's dims: where tile i begins and ends along dim k.
  std::vector<std::vector<Cut>> ranges;
};

// [0, total) in pieces of `chunk`, the last one shorter. ArgumentError for a chunk or a total below
// one.
TESSERA_API std::vector<std::pair<i64, i64>> batch_ranges(i64 total, i64 chunk);

// The size of one of the operator's dims, inner ones included, from what it knows or from the shape
// of an input; nullopt when neither tells.
TESSERA_API std::optional<i64> size_of_dim(const NamedLinop& a, NamedDimension d,
                                           const std::optional<Shape>& input = {});

// How many tiles of at most `chunk` the dim has; errors as split_linop.
TESSERA_API i64 tiles_along(const NamedLinop& a, NamedDimension d, i64 chunk,
                            const std::optional<Shape>& input = {});

// Tiles of at most these sizes along these dims. DimError for a dim that the operator does not have
// or whose size nobody knows (`input`, the shape of an input, tells it), SplitError for one that
// cannot be cut, ArgumentError for a size below one.
TESSERA_API SplitGrid split_linop(const NamedLinop& a, const DimSizes& sizes,
                                  const std::optional<Shape>& input = {});

// A half-open range of one dim; without a stop, to its end.
struct DimRange {
  i64 start = 0;
  std::optional<i64> stop{};
  bool whole() const { return start == 0 && !stop; }
};
// A.split with a range for each dim of the input and of the output, in their order. SplitError when
// a dim of both sides is given two ranges.
TESSERA_API NamedLinop split_forward(const NamedLinop& a, const std::vector<DimRange>& ibatch,
                                     const std::vector<DimRange>& obatch);

}  // namespace tessera
