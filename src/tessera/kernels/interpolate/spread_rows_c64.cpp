// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/spread_rows.hpp"

namespace tessera::spread {

template void interpolate_rows(const PointRange<c64>& r);
template void grid_rows(const PointRange<c64>& r);

}  // namespace tessera::spread
