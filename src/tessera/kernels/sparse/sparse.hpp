// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sparse matrices by compressed rows, and their product with dense vectors, many at once. Each row
// is summed by one thread or one warp in the order of its entries: no race, and the same result
// every time. The transposed structure is a matrix of its own (transposed()), so the adjoint runs
// the same kernel.
//   CsrMatrix a = csr_from_coo(values, rows, columns, 4, 5);   Array y = multiply(a, x);

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// Entries of row r: positions starts[r] to starts[r+1]. Equal positions add up. A value: copies
// share the arrays.
struct TESSERA_API CsrMatrix {
  i64 rows = 0, columns = 0;
  Array values;
  Array indices;  // int64, the column of each entry
  Array starts;   // int64 (rows + 1)
  i64 entries() const { return values.size(); }
  Device device() const { return values.device(); }
  CsrMatrix to(Device d) const;
  // Entries of a row keep the order of the rows they came from. Works on the host.
  CsrMatrix transposed() const;
  // Row r of the result is row keep_rows[r]; column c becomes new_column[c], none where negative.
  CsrMatrix part(std::span<const i64> keep_rows, std::span<const i64> new_column,
                 i64 columns) const;
};

// Checks everything once: lengths, increasing starts, columns in range (ShapeError, IndexError).
TESSERA_API CsrMatrix make_csr(Array values, const Array& indices, const Array& starts, i64 rows,
                               i64 columns, std::string_view who = "sparse");
// Entries in any order, sorted by row and column here.
TESSERA_API CsrMatrix csr_from_coo(const Array& values, const Array& row, const Array& column,
                                   i64 rows, i64 columns, std::string_view who = "sparse");
// The entries of a dense matrix that are not zero.
TESSERA_API CsrMatrix csr_from_dense(const Array& matrix, std::string_view who = "sparse");

// y[b..., r...] = sum over the entries k of row r of values[k] x[b..., indices[k]].
// Operands: x, values, indices, starts, y. x and y have one dtype, float32 to complex128; values
// have it too, or the real dtype of its precision.
struct SparseSpec {
  Operand x;               // batch axes, then axes whose product is the number of columns
  Operand values;          // dense
  Operand y;               // batch axes, then axes whose product is the number of rows
  i64 batch_axes = 0;      // the same sizes on both sides
  bool conjugate = false;  // conj(values)
};

// (batch..., columns) -> (batch..., rows)
TESSERA_API Array multiply(const CsrMatrix& a, const Array& x);

}  // namespace tessera
