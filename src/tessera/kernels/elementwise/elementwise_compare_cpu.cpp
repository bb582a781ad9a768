// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/elementwise_blocks.hpp"

namespace tessera {
template BlockFn family_block<ElementFamily::compare>(ElementOp, DType);
template BlockFn family_block<ElementFamily::logic>(ElementOp, DType);
template BlockFn family_block<ElementFamily::bits>(ElementOp, DType);
}  // namespace tessera
