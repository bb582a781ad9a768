// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading and writing at positions given by integer arrays: what advanced NumPy keys become. The indexed
// axes come first (the caller permutes layouts, which costs nothing). Bounds are checked before a launch;
// negative positions count from the end.
//   take(x, indices, axis);   put_along… and x[key] = v go through Array::assign

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// out[j..., r...] = source[i1[j...], ..., ik[j...], r...]
// Operands of a launch: source, k index arrays (int64, layouts broadcast to one shape), out.
struct GatherSpec {
  Operand source;
  std::vector<Operand> indices;
  Operand out;
};

// target[i1[j...], ..., ik[j...], r...] (op)= value[j..., r...]; equal positions: the last j in row-major
// order wins for assign, all count for add. Operands: value, k index arrays, target.
enum class ScatterOp : std::uint8_t { assign, add };
struct ScatterSpec {
  ScatterOp op = ScatterOp::assign;
  Operand value;
  std::vector<Operand> indices;
  Operand target;
};

// Checks every index array against the axis sizes (IndexError with NumPy's text: index, axis, size).
// Waits for device arrays.
TESSERA_API void check_indices(std::span<const Array> indices, const Array& source, i64 first_axis);
TESSERA_API Array take(const Array& x, const Array& indices, std::optional<i64> axis);

}  // namespace tessera
