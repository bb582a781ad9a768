// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/quick_arcs.hpp"

#include "tessera/kernels/elementwise/math/math_blocks.hpp"

namespace tessera {

TESSERA_QUICK_1(float, arcsin, TakesAll)
TESSERA_QUICK_1(double, arcsin, TakesAll)
TESSERA_QUICK_1(float, arccos, TakesAll)
TESSERA_QUICK_1(double, arccos, TakesAll)
TESSERA_QUICK_1(float, arcsinh, TakesAll)
TESSERA_QUICK_1(double, arcsinh, TakesAll)
TESSERA_QUICK_1(float, arccosh, TakesAll)
TESSERA_QUICK_1(double, arccosh, TakesAll)
TESSERA_QUICK_1(float, arctanh, TakesAll)
TESSERA_QUICK_1(double, arctanh, TakesAll)
}  // namespace tessera
