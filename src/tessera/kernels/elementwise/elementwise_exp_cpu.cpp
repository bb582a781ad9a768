// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/quick_exp.hpp"

#include "tessera/kernels/elementwise/math/math_blocks.hpp"

namespace tessera {

TESSERA_QUICK_1(float, exp, TakesAll)
TESSERA_IF_WIDE(TESSERA_QUICK_1(double, exp, TakesAll))
TESSERA_QUICK_1(float, exp2, TakesAll)
TESSERA_IF_WIDE(TESSERA_QUICK_1(double, exp2, TakesAll))
TESSERA_QUICK_1(float, expm1, TakesAll)
TESSERA_QUICK_1(double, expm1, TakesAll)
TESSERA_QUICK_1(float, sinh, TakesAll)
TESSERA_QUICK_1(double, sinh, TakesAll)
TESSERA_QUICK_1(float, cosh, TakesAll)
TESSERA_QUICK_1(double, cosh, TakesAll)
TESSERA_QUICK_1(float, tanh, TakesAll)
TESSERA_QUICK_1(double, tanh, TakesAll)
}  // namespace tessera
