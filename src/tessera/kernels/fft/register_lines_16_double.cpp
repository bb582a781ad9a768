// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/register_lines_run.hpp"

namespace tessera {

template struct RegisterLines<double, 16>;

}  // namespace tessera
