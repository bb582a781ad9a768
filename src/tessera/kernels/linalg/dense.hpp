// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel of dense linear algebra: factorisations of a stack of matrices and solves with them,
// by LAPACK in host memory and by cuSOLVER and cuBLAS on CUDA. Operands are dense and matrices
// column-major, one after another, none of them empty; strides, promotion and errors are the
// business of linalg.hpp.
//   DenseSpec s{.op = DenseOp::lu, .dtype = DType::f64, .batch = 3, .m = 5, .n = 5};

#include "tessera/kernels/kernel.hpp"

namespace tessera {

enum class Turn : std::uint8_t { none, transposed, adjoint };

// Operands of a launch after the arrow, k = min(m, n); `a` is written over. info: int64 for each
// matrix, 0 when all is well, else LAPACK's number (a pivot counted from 1).
enum class DenseOp : std::uint8_t {
  lu,                // -> a (m, n), pivots int64 (k) from 1, rows int64 (m) from 0, info
  lu_solve,          // -> a, pivots, b (n, columns)
  inverse,           // -> a, x, info; x of a singular matrix is NaN
  slogdet,           // -> a, sign, log |det|, det
  cholesky,          // -> a (n, n), info; the other triangle becomes zero
  cholesky_solve,    // -> a, b
  triangular_solve,  // -> a, b, info
  qr,                // -> a (m, n), q (m, rank), r (rank, n), order int64 (n) from 0, info
  eigh,              // -> a: the vectors, values (n), info
  eig,               // -> a, values complex (n), left, right complex (n, n), info
  svd,               // -> a, u, s, vh, info
};

struct DenseSpec {
  DenseOp op = DenseOp::lu;
  DType dtype = DType::f64;  // float32, float64, complex64 or complex128
  i64 batch = 1, m = 0, n = 0, columns = 0;
  Turn turn = Turn::none;  // solves: with the matrix, its transpose or its adjoint
  bool lower = true;       // triangles, eigh: which of them is read
  bool unit = false;       // triangular_solve: ones on the diagonal, which is not read
  bool vectors = true;     // eigh, svd, qr (q), eig (right); false: that operand is not touched
  bool left = false;       // eig
  bool full = false;       // svd: all of u and vh; qr: rank is m, not k
  bool pivoted = false;    // qr
};

}  // namespace tessera
