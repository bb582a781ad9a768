// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/async_streamer.hpp"

#include "tessera/split/fit.hpp"
#include "tessera/split/tiled.hpp"

namespace tessera {

AsyncStreamer::AsyncStreamer(const NamedLinop& op, DimSizes tile_sizes, Device computes,
                             bool resident, const std::optional<Shape>& input)
    : StandIn{{create_batched_linop(op,
                                    BatchSpec{.batch_sizes = tile_sizes,
                                              .device_matrix = DeviceMatrix({RankDevice(computes)}),
                                              .base_device = RankDevice(op.device().value_or(cpu)),
                                              .resident = resident},
                                    input)}},
      where(computes),
      tiles(std::move(tile_sizes)) {}

OperatorReaders split_readers() {
  return {reader_of<Fitted>(), reader_of<AsyncStreamer>(), reader_of<Tiled>()};
}

}  // namespace tessera
