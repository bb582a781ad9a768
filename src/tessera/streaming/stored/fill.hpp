// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays in the backing folder that are written once, tile by tile, with numbers that nobody holds:
// one value, or random numbers. The latter are those that the same draw gives in memory, whatever
// the tiles and the budget.
//   StoredArray x = drawn({n, n}, DType::f64, Random(7).next_normal(DType::f64));

#include "tessera/kernels/random/random.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {

TESSERA_API StoredArray filled(const Shape& shape, const Value& value, DType dtype);
// The numbers of arange(), of linspace() (`count` of them, by the steps of `n`) and of eye().
TESSERA_API StoredArray ranged(const Value& from, const Value& to, const Value& by, DType dtype);
TESSERA_API StoredArray spaced(double start, double stop, i64 n, i64 count, DType dtype);
TESSERA_API StoredArray ones_on_diagonal(i64 rows, i64 columns, i64 diagonal, DType dtype);
TESSERA_API StoredArray drawn(const Shape& shape, DType dtype, const RandomSpec& spec);

}  // namespace tessera::streaming
