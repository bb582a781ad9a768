// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/reading_pieces_launch.cuh"

namespace tessera::cuda {

std::optional<Prepared> prepare_piece_reading_c64(const InterpolateSpec& spec, Device device) {
  const DeviceGuard guard(device.index);  // shared memory is asked for on each device
  return prepare_piece_reading<c64>(spec);
}

}  // namespace tessera::cuda
