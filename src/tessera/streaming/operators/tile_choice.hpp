// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an operator is cut so that a tile of it, with its parts of the input, of the output and of
// arrays on disk, fits a number of bytes. Nothing is read: plans of tiles are made over arrays that
// have no memory. Dims of both sides are walked outermost and what is summed innermost, so that a
// part of the result stays in memory until all of it is there.
//   TileChoice c = choose_tiles(A, {8, 64, 64}, DType::c64, {.budget = 1 << 20});   c.sizes, c.held

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/split/batch_spec.hpp"
#include "tessera/streaming/operators/on_disk.hpp"

namespace tessera::streaming {

struct ApplyOptions {
  i64 budget = 0;  // bytes of host memory that a run may hold; 0: stream_budget()
  // Devices on which tiles are computed, with the bytes that they may hold there; none: the host.
  std::vector<std::pair<Device, i64>> devices{};
};

struct TileChoice {
  DimSizes sizes;                  // of the tiles, outermost first; empty: whole
  i64 slots = 2;                   // tiles that are read, computed or written at a time
  i64 workspace = 0;               // bytes of the plan of a tile
  i64 held = 0;                    // with the parts of input, output and arrays on disk
  std::vector<BatchSpec> specs{};  // how a tile is placed on the devices
};

// Where the input `x` is given, tiles that read less of its file are preferred.
// OutOfMemory when the smallest tiles do not fit: names the dims, those along which it cannot be
// cut with the reason, and the smallest budget that would do.
TESSERA_API TileChoice choose_tiles(const NamedLinop& a, const Shape& input, DType dtype,
                                    const ApplyOptions& options,
                                    const store::TileStore* x = nullptr);

// One tile: its operator and the boxes that it takes, gives and needs of arrays on disk.
struct OperatorTile {
  Tile cuts;
  Box in, out;
  std::vector<WeightBox> weights;
  bool first = true, last = true;  // of those that are summed into its box of the output
};
// The tiles of these sizes, in the order in which they run.
class OperatorTiles {
 public:
  OperatorTiles(const NamedLinop& a, const Shape& input, const DimSizes& sizes);
  i64 count() const { return count_; }
  OperatorTile operator[](i64 number) const;

 private:
  NamedLinop a_;
  Shape input_, output_;
  bool weights_on_disk_;
  Dims dims_;
  std::vector<std::vector<std::pair<i64, i64>>> ranges_;
  i64 count_ = 1, summed_ = 1;  // tiles, and those that make one box of the output
};

// The plan of a tile between dense arrays of the host, placed as the choice says.
Plan plan_of_tile(const NamedLinop& tile, const Shape& in, DType dtype, const Shape& out,
                  DType out_dtype, const TileChoice& c);

}  // namespace tessera::streaming
