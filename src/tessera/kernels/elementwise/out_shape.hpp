// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is said of an output array that the operands of an element-wise function do not fit: NumPy's
// sentences, for local and distributed arrays alike. Private to the element-wise functions.
//   require_out_shape(shape_of(inputs), out.shape(), [&] { return "(2, 3) (3,) "; });

#include "tessera/array/array.hpp"

namespace tessera {

// `shapes()`: those of the operands, a space behind each; asked for where a sentence needs them.
template <class Shapes>
void require_out_shape(const Shape& shape, const Shape& out, Shapes&& shapes) {
  if (shape == out) return;
  Shape both;
  try {
    both = broadcast_shapes(shape, out);
  } catch (const ShapeError&) {
    throw ShapeError(cat("operands could not be broadcast together with shapes ", shapes(), out));
  }
  require<ShapeError>(both == out, "non-broadcastable output operand with shape ", out,
                      " doesn't match the broadcast shape ", both);
}

}  // namespace tessera
