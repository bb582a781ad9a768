// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cumulative sums and products along one axis, NumPy's dtypes.
//   Array c = scan(ScanOp::sum, x, 1);

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

enum class ScanOp : std::uint8_t { sum, prod };

// Operands of a launch: in, out (same shape). Accumulates in out.dtype.
struct ScanSpec {
  ScanOp op = ScanOp::sum;
  Operand in, out;
  i64 axis = 0;
};

// No axis: over the flattened array, as NumPy.
TESSERA_API Array scan(ScanOp op, const Array& x, std::optional<i64> axis,
                       std::optional<DType> dtype = {});

}  // namespace tessera
