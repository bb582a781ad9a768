// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows, columns and blocks of matrices, in memory of their own. A few rows are read where they lie,
// whatever the form and its views; of bits nothing is spread out but those.
//   AnyMatrix b = sliced(m, Slice{0, 5}, Slice{});   Array r = row_of(m, 3);

#include "tessera/array/index.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// Bits stay bits; everything else is dense.
TESSERA_API AnyMatrix sliced(const AnyMatrix& m, const Slice& rows, const Slice& columns);
TESSERA_API Array row_of(const AnyMatrix& m, i64 i);     // IndexError
TESSERA_API Array column_of(const AnyMatrix& m, i64 j);  // IndexError
// The elements (i, i), min(rows, cols) of them.
TESSERA_API Array diagonal(const AnyMatrix& m);

}  // namespace tessera
