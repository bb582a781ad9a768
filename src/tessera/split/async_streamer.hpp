// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data of the host through one device, tile by tile: while a tile is computed, the next one is on
// its way there and the result of the one before on its way back, in two buffers each. The operator
// may stay on the host too (resident = false) when it is larger than the device. Pinned arrays
// travel at the full speed of the link, others through a ring of pinned buffers.
//   NamedLinop S = AsyncStreamer(A, {{"C", 4}}, gpu);   S(x) equals A(x), x on the host

#include "tessera/linop/containers/wrapper.hpp"
#include "tessera/linop/core/state.hpp"
#include "tessera/split/batched.hpp"

namespace tessera {

// Around the operator in tiles.
struct TESSERA_API AsyncStreamer : StandIn {
  Device where;  // it computes
  DimSizes tiles;

  static constexpr const char* kind = "AsyncStreamer";
  // `input`, the shape of an input, tells sizes that the operator does not know. Errors as
  // create_batched_linop.
  AsyncStreamer(const NamedLinop& op, DimSizes tile_sizes, Device computes, bool resident = true,
                const std::optional<Shape>& input = {});
  auto state() const { return std::tuple(a, where, tiles); }
  static AsyncStreamer from_state(NamedLinop tiled, Device computes, DimSizes tiles) {
    return AsyncStreamer(std::move(tiled), computes, std::move(tiles));
  }
  std::string details() const { return cat("tiles of ", to_text(tiles), " through ", where); }

 private:
  AsyncStreamer(NamedLinop tiled, Device computes, DimSizes sizes)
      : StandIn{{std::move(tiled)}}, where(computes), tiles(std::move(sizes)) {}
};

// What a description (linop/state.hpp) may hold of this layer.
TESSERA_API OperatorReaders split_readers();

}  // namespace tessera
