// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_linalg.hpp"

#include "tessera/streaming/linalg/cholesky.hpp"

namespace tessera::streaming {
namespace {

Options stream_options() { return {.budget = stream_budget()}; }

StorePtr stored_as(const StoredArray& a, DType dtype) {
  return StoredArray(a.expression().as(dtype)).store();
}

void require_matrix(std::string_view who, const StoredArray& a) {
  require<ShapeError>(a.ndim() == 2 && a.shape()[0] == a.shape()[1], who,
                      ": takes a square matrix, got shape ", a.shape());
}

// Refused before a formula is computed or a file made.
DType dtype_of_system(std::string_view who, const StoredArray& a, const StoredArray& b) {
  require_matrix(who, a);
  require<ShapeError>((b.ndim() == 1 || b.ndim() == 2) && b.shape()[0] == a.shape()[0], who,
                      ": a matrix of shape ", a.shape(), " and right sides of shape ", b.shape(),
                      ": the sizes do not match");
  return promote(linalg::working_dtype(a.dtype()), linalg::working_dtype(b.dtype()));
}

}  // namespace

StoredArray cholesky(const StoredArray& a, bool upper) {
  require_matrix("cholesky", a);
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = stored_as(a, t);
  const StoredArray out = StoredArray::create(a.shape(), t);
  cholesky(from, out.store(), {.upper = upper}, stream_options());
  return out;
}

StoredArray solve(const StoredArray& a, const StoredArray& b) {
  const DType t = dtype_of_system("solve", a, b);
  const StorePtr matrix = stored_as(a, t), right = stored_as(b, t);
  const StoredArray out = StoredArray::create(b.shape(), t),
                    factors = StoredArray::create(a.shape(), t);
  solve(matrix, right, out.store(), factors.store(), stream_options());
  return out;
}

StoredArray inverse(const StoredArray& a) {
  require_matrix("inverse", a);
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = stored_as(a, t);
  const StoredArray out = StoredArray::create(a.shape(), t),
                    factors = StoredArray::create(a.shape(), t);
  inverse(from, out.store(), factors.store(), stream_options());
  return out;
}

StoredArray solve_triangular(const StoredArray& a, const StoredArray& b,
                             const TriangularOptions& what) {
  const DType t = dtype_of_system("solve_triangular", a, b);
  const StorePtr matrix = stored_as(a, t), right = stored_as(b, t);
  const StoredArray out = StoredArray::create(b.shape(), t);
  solve_triangular(matrix, right, out.store(), what, stream_options());
  return out;
}

}  // namespace tessera::streaming
