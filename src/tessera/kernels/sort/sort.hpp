// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorting along an axis: values, positions, distinct values, positions for insertion. Stable; NaN
// last and complex numbers in lexicographic order, as NumPy.
//   Array s = sort(x, -1);   Array p = argsort(x, 0);   Unique u = unique(x);

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// Along the last axis. Operands of a launch: in, out. `out` has in's dtype (values) or is int64
// (positions).
struct SortSpec {
  Operand in, out;
  bool positions = false;
};

TESSERA_API Array sort(const Array& x, std::optional<i64> axis = -1);  // no axis: flattened
TESSERA_API Array argsort(const Array& x, std::optional<i64> axis = -1);

struct Unique {
  Array values, index, inverse, counts;  // as NumPy's return_index, return_inverse, return_counts
};
TESSERA_API Unique
unique(const Array& x);  // flattened; index = first occurrence; inverse has x's shape
TESSERA_API Array searchsorted(const Array& sorted, const Array& values, bool right = false);

}  // namespace tessera
