// SPDX-License-Identifier: Apache-2.0
#pragma once
// One operator over several devices: cut into tiles, each tile's arrays placed on its device, and
// put together again from the names. What comes out is an ordinary operator that takes and gives
// arrays on the base device. The plan does the rest: what is sent when, and what overlaps.
//   BatchSpec spec{.batch_sizes = {{"C", 4}}, .device_matrix = {"sim:0", "sim:1"}};
//   NamedLinop B = create_batched_linop(A, spec);   B(x) equals A(x)

#include <functional>
#include <optional>
#include <vector>

#include "tessera/split/batch_spec.hpp"

namespace tessera {

// Several specs: the tiles of the first are cut by the second, and so on; the base device of a
// level is by default the device of the tile above it. `input`, the shape of an input, tells the
// sizes that the operator does not know. Errors as split_linop; ArgumentError without a spec; for a
// device that cannot be used, its own sentence at once.
TESSERA_API NamedLinop create_batched_linop(const NamedLinop& a,
                                            const std::vector<BatchSpec>& specs,
                                            const std::optional<Shape>& input = {});
TESSERA_API NamedLinop create_batched_linop(const NamedLinop& a, const BatchSpec& spec,
                                            const std::optional<Shape>& input = {});

// One rank's share of an operator over places that name ranks (the first spec names them; the next
// cut what a rank has, over its own devices). The operator has the tiles of this rank and zeros in
// the place of the others: what all ranks give, summed, is the whole. No message is sent here; see
// distributed/operators/batched_ranks.hpp. CommError for a rank that is not there.
struct OfRank {
  int rank = 0, ranks = 1;
};
struct TilesOfRank {
  struct Owned {
    int rank;
    Tile in, out;  // as SplitTile has them
  };
  NamedLinop mine;
  Device base;
  std::vector<Owned> tiles;  // of the first spec, of all ranks
};
TESSERA_API TilesOfRank tiles_of_rank(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                                      const std::optional<Shape>& input, const OfRank& rank);

// How a tile comes to its device: with its arrays moved there, or (not resident) without.
using PlaceTile = std::function<NamedLinop(const NamedLinop& tile, Device device, bool resident)>;
// The same operator with tiles placed by `place`: for forecasts, which move nothing.
TESSERA_API NamedLinop batched_with(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                                    const std::optional<Shape>& input, const PlaceTile& place);

}  // namespace tessera
