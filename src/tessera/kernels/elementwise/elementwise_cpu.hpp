// SPDX-License-Identifier: Apache-2.0
#pragma once
// The seam inside the cpu kernel: per op and work type one loop over a contiguous block, found by
// family so that each family compiles in a file of its own. Only the files of this folder include
// it.
//   BlockFn add = family_block<ElementFamily::arith>(ElementOp::add, DType::f32);

#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera {

// n results from contiguous inputs of the work type; bit i of `scalars` says that input i is one
// element for all (ops of three inputs know no scalars). The output may be exactly one of the
// inputs.
using BlockFn = void (*)(const void* const* in, void* out, i64 n, unsigned scalars);

// Null when the op does not exist for the dtype. float16 and bfloat16 give the loops of float.
template <ElementFamily family>
BlockFn family_block(ElementOp op, DType compute);
extern template BlockFn family_block<ElementFamily::arith>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::compare>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::logic>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::bits>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::math>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::real_math>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::test>(ElementOp, DType);
extern template BlockFn family_block<ElementFamily::real_part>(ElementOp, DType);

// The loop of any op, and the largest block that is not worth a second thread: eager calls on small
// contiguous arrays go straight to it.
BlockFn element_block(ElementOp op, DType compute);
i64 element_grain(ElementOp op);

// ElementOp::copy, in copy/copy_cpu.cpp. The output is not empty.
Prepared prepare_copy_cpu(const ElementwiseSpec& spec);

}  // namespace tessera
