// SPDX-License-Identifier: Apache-2.0
#pragma once
// Householder reflections of blocks in host memory, by dtype instead of by type: LAPACK's compact
// forms, with a triangle on top of a block of any height. Blocks lie by columns, `ld` elements
// apart. A factored block keeps its reflections in place, and `block` rows of n numbers beside it.
// Work spaces are the caller's, `block` times as many numbers as columns. Private to the library.
//   reflect_below(t, rows, n, block, {r, n}, {panel, rows}, factors, work);

#include "tessera/kernels/linalg/dense.hpp"

namespace tessera::streaming {

struct Columns {
  void* data;
  i64 ld;
};

// How many reflections are applied at a time.
inline i64 reflection_block(i64 n) { return n < 1 ? 1 : n < 32 ? n : 32; }

// A square becomes its R, with the reflections below the diagonal.
void reflect_square(DType dtype, i64 n, i64 block, Columns square, void* factors, void* work);
// The triangle becomes the R of itself above `panel`, which becomes the reflections. What lies below
// the triangle's diagonal is left alone.
void reflect_below(DType dtype, i64 rows, i64 n, i64 block, Columns triangle, Columns panel,
                   void* factors, void* work);

// The reflections of n columns on others: Q, or its adjoint.
void apply_square(DType dtype, bool adjoint, i64 n, i64 columns, i64 block, Columns square,
                  void* factors, Columns to, void* work);
// The same on n rows above as many as the panel has.
void apply_below(DType dtype, bool adjoint, i64 rows, i64 n, i64 columns, i64 block, Columns panel,
                 void* factors, Columns top, Columns bottom, void* work);
// Q on an upper triangle of n columns above zeros: half of the work of apply_below.
void apply_below_triangle(DType dtype, i64 rows, i64 n, i64 block, Columns panel, void* factors,
                          Columns triangle, Columns bottom, void* work);

}  // namespace tessera::streaming
