// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/quick_log.hpp"

#include "tessera/kernels/elementwise/math/math_blocks.hpp"

namespace tessera {

TESSERA_QUICK_1(float, log, TakesAll)
TESSERA_IF_WIDE(TESSERA_QUICK_1(double, log, TakesAll))
TESSERA_QUICK_1(float, log2, TakesAll)
TESSERA_IF_WIDE(TESSERA_QUICK_1(double, log2, TakesAll))
TESSERA_QUICK_1(float, log10, TakesAll)
TESSERA_QUICK_1(double, log10, TakesAll)
TESSERA_QUICK_1(float, log1p, TakesAll)
TESSERA_QUICK_1(double, log1p, TakesAll)
}  // namespace tessera
