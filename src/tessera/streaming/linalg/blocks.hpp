// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products, factorisations and solves of blocks in host memory for the dtypes that BLAS and LAPACK
// know, by dtype instead of by type. Rows are `ld` elements apart; `turned` blocks have columns
// that are. No work space but LAPACK's own. Private to the library.
//   gemm(DType::f64, m, n, k, {-1, 0}, {a, lda}, {b, ldb}, {1, 0}, c, ldc);

#include <cstdint>

#include "tessera/kernels/linalg/dense.hpp"

namespace tessera::streaming {

struct Block {
  const void* data;
  i64 ld;
  bool turned = false, conj = false;
};

// Nobody waits long for Ctrl-C: each of these functions computes in parts of at most about so many
// operations (0: as many as take a fifth of a second) and looks around between them.
TESSERA_API void set_operations_at_a_time(double operations);

// DTypeError unless float32, float64, complex64 or complex128.
void require_blas(std::string_view who, DType dtype);

// c = alpha op(a) op(b) + beta c; c by rows. beta 0 does not read c.
void gemm(DType dtype, i64 m, i64 n, i64 k, c128 alpha, const Block& a, const Block& b, c128 beta,
          void* c, i64 ldc);
// The same where c lies by columns.
inline void gemm_columns(DType dtype, i64 m, i64 n, i64 k, c128 alpha, Block a, Block b, c128 beta,
                         void* c, i64 ldc) {
  a.turned = !a.turned;
  b.turned = !b.turned;
  gemm(dtype, n, m, k, alpha, b, a, beta, c, ldc);
}

// The lower triangle of c -= a a^H; a has n rows and k columns, both by rows.
void herk_lower(DType dtype, i64 n, i64 k, const void* a, i64 lda, void* c, i64 ldc);

// A triangle of a block by rows; `turn` says with what is solved. The other one is not read.
struct Triangle {
  const void* data;
  i64 ld;
  bool lower = true, unit = false;
  Turn turn = Turn::none;
};
// b = op(t)^-1 b, or b op(t)^-1, by rows.
void solve_left(DType dtype, i64 rows, i64 columns, const Triangle& t, void* b, i64 ldb);
void solve_right(DType dtype, i64 rows, i64 columns, const Triangle& t, void* b, i64 ldb);

// a = L L^H by rows, from the lower triangle; the other becomes zero. 0, or the order of the first
// leading minor that is not positive.
i64 cholesky_block(DType dtype, i64 n, void* a, i64 ld);

// A block of few rows and more columns becomes L U, with columns exchanged so that U has ones on
// its diagonal and nothing larger: partial pivoting of the transpose, by LAPACK where it lies.
// pivots[i] from 1 is the column with which column i was exchanged. 0, or the first zero pivot.
i64 lu_block(DType dtype, i64 rows, i64 columns, void* a, i64 ld, std::int32_t* pivots);
// The exchanges of such a block: of columns as they came, of rows in the opposite order.
void exchange_columns(DType dtype, i64 rows, void* a, i64 ld, i64 count,
                      const std::int32_t* pivots);
void exchange_rows_back(DType dtype, i64 columns, void* a, i64 ld, i64 count,
                        const std::int32_t* pivots);

}  // namespace tessera::streaming
