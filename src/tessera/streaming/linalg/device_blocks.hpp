// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products, factorisations and solves of blocks on a device, by its kernels: what blocks.hpp is for
// those of the host. Blocks are arrays of two axes, by rows, and may be parts of larger ones. All of
// them take copies from the device's pool while they work: bytes_beside says how much. Private to
// the library.
//   factorise_there(rows, pivots)   solve_right_there(square, x)   subtract_there(c, a, b)

#include <cstdint>

#include "tessera/array/array.hpp"
#include "tessera/kernels/linalg/dense.hpp"

namespace tessera::streaming {

// Beside a block of `rows` of n columns, of which squares of `rows` are solved with.
i64 bytes_beside(Device device, DType dtype, i64 rows, i64 n);

// c -= a b.
void subtract_there(const Array& c, const Array& a, const Array& b);
// x = t^-1 x, or x t^-1: of a square the lower triangle, or the upper one with ones on its diagonal.
void solve_left_there(const Array& t, bool lower, bool unit, const Array& x);
void solve_right_there(const Array& t, bool lower, bool unit, const Array& x);
// As lu_block: a block of few rows and more columns, columns exchanged. `pivots` gets int32. Waits.
i64 factorise_there(const Array& block, const Array& pivots);
// The exchanges of such a block: of columns as they came, of rows in the opposite order. Waits.
void exchange_columns_there(const Array& x, const Array& pivots);
void exchange_rows_back_there(const Array& x, const Array& pivots);

}  // namespace tessera::streaming
