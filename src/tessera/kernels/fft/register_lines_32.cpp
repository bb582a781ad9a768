// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/register_lines_run.hpp"

namespace tessera {

#if defined(__x86_64__)
template struct RegisterLines<float, 32>;
#endif

}  // namespace tessera
