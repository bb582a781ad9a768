// SPDX-License-Identifier: Apache-2.0
#pragma once
// How arrays become what the dense kernel takes, and its answers errors. Private to the folder.
//   const Array m = rows_of(a, t);   factor({...}, {&m, &info});   require_done("lu", info, ...);

#include <limits>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/linalg/linalg.hpp"

namespace tessera::linalg {

inline Array turned(const Array& a) { return a.swap_axes(a.ndim() - 2, a.ndim() - 1); }
inline Array adjoint(const Array& a) {
  return is_complex(a.dtype()) ? turned(ops::conj(a)) : turned(a);
}
inline i64 rows(const Array& a) { return a.shape(a.ndim() - 2); }
inline i64 columns(const Array& a) { return a.shape(a.ndim() - 1); }
inline Shape leading(const Array& a) { return Shape(a.shape().begin(), a.shape().end() - 2); }
inline Shape with(Shape lead, std::initializer_list<i64> rest) {
  for (const i64 n : rest) lead.push_back(n);
  return lead;
}

// Note [transposes]: a row-major matrix in memory is its transpose to LAPACK. Where the transpose
// has the same answer (determinant), a transposed one (inverse, Cholesky), the other one (singular
// vectors) or LAPACK takes a flag (solves), rows_of copies straight and nothing is turned.
inline Array rows_of(const Array& a, DType t) {
  const Array mine = empty_dense(a.shape(), t, a.device());
  mine.copy_from(a);
  return mine;
}
inline Array columns_of(const Array& a, DType t) { return rows_of(turned(a), t); }
inline Array room(const Shape& shape, DType t, const Array& like) {
  return empty_dense(shape, t, like.device());
}

// Whether nothing but zeros lies above the diagonal; of full matrices the first element says no.
template <class T>
bool is_lower(const T* m, i64 n, i64 down, i64 right) {
  for (i64 j = n - 1; j > 0; --j)
    for (i64 i = 0; i < j; ++i)
      if (m[i * down + j * right] != T(0)) return false;
  return true;
}

// Note [triangles]: LU exchanges rows, which leaves an upper triangle as it is: its pivots are its
// diagonal, and to solve with it is substitution. A lower triangle is an upper one when its rows
// and columns are taken in the other order. So those of a stack of column-major matrices are turned
// around in place, and so is what belongs to them.
//   const TurnedAround lower(m);   lower.rows(b);   ...solve...   lower.rows(b);
class TurnedAround {
 public:
  explicit TurnedAround(const Array& m);
  void rows(const Array& x) const;      // of right sides and solutions, column-major
  void matrices(const Array& x) const;  // of inverses
  void pivots(const Array& info) const;

 private:
  i64 batch_, n_;
  Array which_;  // (batch, 1, 1); none where no matrix is lower triangular
};

// The tag of an operation, and none of its kernels'; `who` is a literal.
inline TagScope tagged(std::string_view who, const Array& a) {
  return {name(a.device().kind), who, working_dtype(a.dtype())};
}

void require_matrices(std::string_view who, const Array& a);
void require_square(std::string_view who, const Array& a);

void factor(const DenseSpec& spec, Device device, std::initializer_list<const Array*> operands);

// A LinAlgError for the first matrix that failed; `pivot` says what LAPACK's number counts, or
// is empty.
void require_done(std::string_view who, const Array& info, std::string_view reason,
                  std::string_view pivot = "");

DenseSpec spec_of(DenseOp op, const Array& a, DType t);
Array inverse_or_nan(const Array& a);  // NaN where a matrix is singular

// Matrices and right sides brought to one shape: a as it is when one matrix serves all.
struct Sides {
  Sides(std::string_view who, const Array& a, const Array& b);
  Array right() const;                 // column-major, of its own
  Array result(const Array& x) const;  // x in the shape that the caller expects
  DenseSpec spec(DenseOp op) const;

  Device device;
  DType dtype;
  Shape lead;
  i64 n, k;
  bool vector, one;  // one matrix for all right sides
  Array a, b;        // a has the leading shape `lead` unless `one`; b always
};

}  // namespace tessera::linalg
