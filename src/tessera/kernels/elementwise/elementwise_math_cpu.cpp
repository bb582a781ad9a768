// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/math_blocks.hpp"

namespace tessera {
template BlockFn family_block<ElementFamily::math>(ElementOp, DType);
}  // namespace tessera
