// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dense linear algebra: what numpy.linalg and scipy.linalg call by these names, with their shapes
// and dtypes, for stacks of matrices along leading axes, on the device of the arrays (LAPACK in
// host memory, cuSOLVER and cuBLAS on CUDA; nothing is moved to another device). Integers are taken
// as float64, short floats as float32. A matrix that cannot be treated (singular, not positive
// definite) is a LinAlgError that names it and its pivot.
//   Array x = linalg::solve(a, b);   auto [q, r, order] = linalg::qr(a);   linalg::eigh(a).values

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/linalg/dense.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"

namespace tessera::linalg {

// float32, float64, complex64 or complex128: what these functions compute with.
TESSERA_API DType working_dtype(DType t);

// a x = b; b is one vector, or a stack of matrices. Never through the inverse.
TESSERA_API Array solve(const Array& a, const Array& b);
TESSERA_API Array inverse(const Array& a);
// a @ a @ ... n times, in the dtype of a; of 0 identities, of negative n powers of the inverse.
TESSERA_API Array matrix_power(const Array& a, i64 n);

struct TriangularOptions {
  bool lower = false;      // which triangle of a is read
  Turn turn = Turn::none;  // solves with a, its transpose or its adjoint
  bool unit = false;       // the diagonal is taken as ones
};
TESSERA_API Array solve_triangular(const Array& a, const Array& b,
                                   const TriangularOptions& options = {});

// What a factored matrix is made of, for files and pickles: both triangles in one, of leading axes
// stacks; rows exchanged with, from 1; the pivot that is zero, from 1, or 0.
struct LuParts {
  Array triangles, pivots, info;
};

// A factored matrix, for many right sides: a = P L U.
class TESSERA_API Lu {
 public:
  explicit Lu(const Array& a, std::string_view who = "lu_factor");
  explicit Lu(const LuParts& parts);  // copies and checks them
  LuParts parts() const;
  Array solve(const Array& b, Turn turn = Turn::none) const;  // square matrices, not singular
  Array p() const;                                            // (m, m)
  Array l() const;                                            // (m, k), k = min(m, n)
  Array u() const;                                            // (k, n)
  const Array& pivots() const { return pivots_; }             // rows exchanged with, from 1
  const Array& rows() const { return rows_; }                 // a[rows] = L U
  Shape shape() const;

 private:
  Array packed_, pivots_, rows_, info_;
};
inline Lu lu_factor(const Array& a) { return Lu(a); }

TESSERA_API Array cholesky(const Array& a, bool upper = false);  // reads that triangle alone

// The factored form of a positive matrix.
class TESSERA_API Cholesky {
 public:
  explicit Cholesky(const Array& a);          // its lower triangle is read
  static Cholesky of_factor(const Array& l);  // as l() gives it
  Array solve(const Array& b) const;
  Array l() const;  // a = L Lᴴ

 private:
  Cholesky() = default;

  Array packed_;
};
inline Cholesky cholesky_factor(const Array& a) { return Cholesky(a); }

struct Qr {
  Array q, r;
  Array order;  // pivoted: a[:, order] = q r
};
enum class QrMode : std::uint8_t { reduced, complete, r };  // r: q is not formed
TESSERA_API Qr qr(const Array& a, QrMode mode = QrMode::reduced, bool pivoted = false);

struct Eigh {
  Array values, vectors;  // ascending; the columns are the vectors
};
TESSERA_API Eigh eigh(const Array& a, bool lower = true);  // only that triangle of a is read
TESSERA_API Array eigvalsh(const Array& a, bool lower = true);

// Of any square matrix; values and vectors are complex whatever the matrix, so that no dtype
// depends on the numbers. Hermitian and skew-Hermitian matrices (a = ±aᴴ exactly) go through eigh:
// their values have no imaginary or no real part, to the last bit.
struct Eig {
  Array values, vectors, left;  // a v = v w;  leftᴴ a = w leftᴴ
};
TESSERA_API Eig eig(const Array& a, bool left = false);
TESSERA_API Array eigvals(const Array& a);
// Of real matrices that are taken as antisymmetric: pairs ±i s of singular values, exactly paired,
// found without complex numbers.
TESSERA_API Array eigvals_skew(const Array& a);

struct Svd {
  Array u, s, vh;  // s descending; a = (u * s) vh
};
TESSERA_API Svd svd(const Array& a, bool full_matrices = true);
TESSERA_API Array svdvals(const Array& a);
// Singular values at most rtol times the largest count as zero; negative: the precision times
// max(m, n).
TESSERA_API Array pinv(const Array& a, double rtol = -1);
TESSERA_API Array matrix_rank(const Array& a, double rtol = -1);  // int64

TESSERA_API Array det(const Array& a);
struct SlogDet {
  Array sign, logabsdet;
};
TESSERA_API SlogDet slogdet(const Array& a);

struct Lstsq {
  Array x, residuals;  // residuals: empty where the rank is less than n, or m <= n
  i64 rank = 0;        // of a stack: the least
  Array s;
};
// The x of least |b - a x|, and of those the shortest. Singular values below rcond times the
// largest count as zero; negative: the precision times max(m, n).
TESSERA_API Lstsq lstsq(const Array& a, const Array& b, double rcond = -1);

// NumPy's ord: a number (±infinity too), the Frobenius norm, the sum of the singular values, or
// nothing (the 2-norm of all numbers).
struct NormOrder {
  enum Kind : std::uint8_t { plain, number, frobenius, nuclear } kind = plain;
  double p = 2;
};
// One axis: vectors, two: matrices; none: the whole array.
TESSERA_API Array norm(const Array& x, NormOrder order = {}, const std::optional<Shape>& axes = {},
                       bool keepdims = false);
TESSERA_API Array cond(const Array& a, NormOrder order = {});  // plain: by singular values

TESSERA_API Array diagonal(const Array& a, i64 offset = 0);  // of the last two axes; a view
TESSERA_API Array trace(const Array& a, i64 offset = 0);
TESSERA_API Array triangle(const Array& a, bool lower, i64 offset = 0);  // zeros elsewhere

}  // namespace tessera::linalg
