// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/elementwise_blocks.hpp"

namespace tessera {
template BlockFn family_block<ElementFamily::real_math>(ElementOp, DType);
template BlockFn family_block<ElementFamily::test>(ElementOp, DType);
template BlockFn family_block<ElementFamily::real_part>(ElementOp, DType);
}  // namespace tessera
