// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading and writing at positions given by integer arrays: what advanced NumPy keys become, and
// x[key] itself. The indexed axes come first (the caller permutes layouts, which costs nothing).
// Bounds are checked before a launch; negative positions count from the end. Nothing moves between
// devices here.
//   Array y = take(x, indices, 1);   x.assign({mask}, value);   add_at(x, {rows}, updates);

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

class Index;   // array/index.hpp
struct Slice;  // array/index.hpp

// out[j..., r...] = source[i1[j...], ..., ik[j...], r...]
// Operands of a launch: source, k index arrays (int64, layouts broadcast to one shape), out.
struct GatherSpec {
  Operand source;
  std::vector<Operand> indices;
  Operand out;
};

// target[i1[j...], ..., ik[j...], r...] (op)= value[j..., r...]; equal positions: the last j in
// row-major order wins for assign, all count for add. Operands: value, k index arrays, target.
enum class ScatterOp : std::uint8_t { assign, add };
struct ScatterSpec {
  ScatterOp op = ScatterOp::assign;
  Operand value;
  std::vector<Operand> indices;
  Operand target;
};

// Checks every index array against the axis sizes (IndexError with NumPy's text: index, axis,
// size): array number k indexes axis first_axis + k of source. Waits for device arrays.
TESSERA_API void check_indices(std::span<const Array> indices, const Array& source, i64 first_axis);

// The fast lanes of the bindings: no Index, no allocation beyond the result. `at` has one integer
// per axis.
TESSERA_API Array element_at(const Array& x,
                             std::span<const i64> at);  // x[i, j]: a snapshot of rank 0
TESSERA_API Value element_value(const Array& x, std::span<const i64> at);
TESSERA_API void set_element(const Array& x, std::span<const i64> at, const Value& v);
TESSERA_API Array slice_view(const Array& x, i64 axis, const Slice& s);  // axis in range

// x[key] = number, cast to x's dtype.
TESSERA_API void assign(const Array& x, const Index& key, const Value& v);
// x[key] += values where equal positions add up (NumPy's np.add.at).
TESSERA_API void add_at(const Array& x, const Index& key, const Array& values);

// As NumPy's functions of these names; no axis means the flattened array.
TESSERA_API Array take(const Array& x, const Array& indices, std::optional<i64> axis);
TESSERA_API Array take_along_axis(const Array& x, const Array& indices, std::optional<i64> axis);
TESSERA_API void put_along_axis(const Array& x, const Array& indices, const Array& values,
                                std::optional<i64> axis);

}  // namespace tessera
