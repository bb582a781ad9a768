// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/reading_launch.cuh"

namespace tessera::cuda {

std::optional<Prepared> prepare_reading_c64(const InterpolateSpec& spec) {
  return prepare_reading<c64>(spec);
}

}  // namespace tessera::cuda
