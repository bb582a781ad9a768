// SPDX-License-Identifier: Apache-2.0
// Factors, eigenvalues, singular values, and what follows from them.
#include <algorithm>
#include <utility>

#include "tessera/array/index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/forms/structure.hpp"
#include "tessera/matrix/functions/reductions.hpp"
#include "tessera/matrix/functions/solving.hpp"

namespace tessera {
namespace {

using linalg::NormOrder;

DType working(const AnyMatrix& m) { return linalg::working_dtype(m.dtype()); }

// Calls `body` with all elements, where the context says.
template <class Body>
void dense_at(Operation op, std::string_view what, const AnyMatrix& m, Body&& body) {
  const DType t = working(m);
  placed({op, t, m.rows(), m.cols(), std::max(m.rows(), m.cols())}, {&m},
         m.rows() * m.cols() * size_of(t), [&](Device where) {
           tag(where, what, TagDetail::plain, t);
           body(m.array(t, where));
         });
}

bool is_diagonal(Structure s) { return s == Structure::identity || s == Structure::diagonal; }

// The diagonal of an identity or a diagonal matrix: min(rows, cols) numbers.
Array diagonal_as(const AnyMatrix& m, DType t) {
  if (structure_of(m) != Structure::identity) return diagonal_of(m, t, m.device());
  return full({std::min(m.rows(), m.cols())}, factor_of_identity(m), t, m.device());
}

Array real_part(const Array& x) { return is_complex(x.dtype()) ? x.real().copy() : x; }

bool is_skew(const AnyMatrix& m) {
  return !is_complex(m.dtype()) &&
         (m.form() == Form::antisymmetric || m.is(Property::is_anti_symmetric) ||
          m.is(Property::is_skew_hermitian));
}
bool is_self_adjoint(const AnyMatrix& m) {
  return m.is(Property::is_hermitian) || (!is_complex(m.dtype()) && m.is(Property::is_symmetric));
}

// w ascending, of the Hermitian i a: pairs ± but for rounding, which is shared out.
Array in_pairs(const Array& w) { return ops::multiply(ops::subtract(w, flip(w, {0})), 0.5); }

// a = -aᵀ real: i a is Hermitian, with values w; a v = -i w v.
linalg::Eig eig_skew(const Array& a, bool left) {
  const DType c = complex_of(a.dtype());
  const linalg::Eigh e = linalg::eigh(ops::multiply(a.astype(c), Value(c128(0, 1))));
  linalg::Eig out;
  out.values = zeros(e.values.shape(), c, a.device());
  out.values.imag().copy_from(ops::negative(in_pairs(e.values)));
  out.vectors = e.vectors;
  if (left) out.left = e.vectors;
  return out;
}

Array sizes_of_diagonal(const AnyMatrix& m) {  // descending
  return flip(sort(ops::absolute(diagonal_as(m, working(m)))), {0}).contiguous();
}

// A negative rtol: the precision times max(rows, cols), as for full matrices.
double relative(const AnyMatrix& m, double rtol) {
  if (rtol >= 0) return rtol;
  const double precision = real_of(working(m)) == DType::f32 ? 0x1p-23 : 0x1p-52;
  return precision * static_cast<double>(std::max(m.rows(), m.cols()));
}

// 1 / d where |d| is above that part of the largest, 0 elsewhere.
Array inverted_where_large(const Array& d, double part) {
  if (d.size() == 0) return d;
  const Array size = ops::absolute(d);
  const Array large = ops::greater(size, ops::multiply(reduce(ReduceOp::max, size), part));
  return ops::where(large, ops::reciprocal(ops::where(large, d, 1.0)), 0.0);
}

// Whoever asked may write to it. Nothing is computed, so there is no tag.
Array copy_of_known(const Array& known) {
  const TagScope scope;
  return known.copy();
}

bool is_frobenius(NormOrder order) {
  return order.kind == NormOrder::plain || order.kind == NormOrder::frobenius;
}

Array number(double v, const AnyMatrix& m) {
  return full({}, Value(v), real_of(working(m)), m.device());
}

}  // namespace

linalg::Lu lu(const AnyMatrix& m) {
  std::optional<linalg::Lu> found;
  dense_at(Operation::solve, "lu", m, [&](const Array& a) { found.emplace(a, "lu"); });
  return *found;
}

AnyMatrix cholesky(const AnyMatrix& m) {
  require_square("cholesky", m);
  const TagScope scope = tagged("cholesky", m, working(m));
  if (is_diagonal(structure_of(m))) {
    const Array d = real_part(diagonal_as(m, working(m)));
    for (const auto& z : diagonal_numbers(m))
      require<LinAlgError>(z.real() > 0, "cholesky: ", described(m),
                           " is not positive definite: ", z.real(), " on its diagonal");
    return AnyMatrix::diagonal(ops::sqrt(d).astype(working(m)));
  }
  std::optional<AnyMatrix> found;
  dense_at(Operation::cholesky, "cholesky", m, [&](const Array& a) {
    found = AnyMatrix::triangular(linalg::cholesky(a), true, false, false);
  });
  return *found;
}

linalg::Qr qr(const AnyMatrix& m, linalg::QrMode mode, bool pivoted) {
  linalg::Qr found;
  dense_at(Operation::qr, "qr", m, [&](const Array& a) { found = linalg::qr(a, mode, pivoted); });
  return found;
}

linalg::Eigh eigh(const AnyMatrix& m, bool lower) {
  require_square("eigh", m);
  const TagScope scope = tagged("eigh", m, working(m));
  linalg::Eigh found;
  if (is_diagonal(structure_of(m))) {
    const Array d = real_part(diagonal_as(m, working(m)));
    const Array order = argsort(d);
    const Array one = eye(m.rows(), m.rows(), 0, working(m), m.device());
    return {d[Index{order}], one[Index{Slice{}, order}]};
  }
  dense_at(Operation::eigh, "eigh", m, [&](const Array& a) { found = linalg::eigh(a, lower); });
  return found;
}

Array eigvalsh(const AnyMatrix& m, bool lower) {
  require_square("eigvalsh", m);
  const TagScope scope = tagged("eigvalsh", m, working(m));
  if (is_diagonal(structure_of(m))) return sort(real_part(diagonal_as(m, working(m))));
  Array found;
  dense_at(Operation::eigh, "eigvalsh", m,
           [&](const Array& a) { found = linalg::eigvalsh(a, lower); });
  return found;
}

linalg::Eig eig(const AnyMatrix& m, bool left) {
  require_square("eig", m);
  const TagScope scope = tagged("eig", m, working(m));
  const DType c = complex_of(working(m));
  linalg::Eig found;
  if (is_diagonal(structure_of(m))) {
    found.values = diagonal_as(m, c);
    found.vectors = eye(m.rows(), m.rows(), 0, c, m.device());
    if (left) found.left = found.vectors;
  } else if (is_skew(m)) {
    dense_at(Operation::eigh, "eig", m, [&](const Array& a) { found = eig_skew(a, left); });
  } else if (is_self_adjoint(m)) {
    const linalg::Eigh e = eigh(m);
    found.values = e.values.astype(c);
    found.vectors = e.vectors.astype(c);
    if (left) found.left = found.vectors;
  } else {
    dense_at(Operation::eig, "eig", m, [&](const Array& a) { found = linalg::eig(a, left); });
  }
  return found;
}

Array eigvals(const AnyMatrix& m) {
  require_square("eigvals", m);
  if (const Array known = m.properties().derived().eigenvalues) return copy_of_known(known);
  const TagScope scope = tagged("eigvals", m, working(m));
  const DType c = complex_of(working(m));
  const Structure structure = structure_of(m);
  Array found;
  if (structure == Structure::zero) {
    found = zeros({m.rows()}, c, m.device());
  } else if (is_diagonal(structure)) {
    found = diagonal_as(m, c);
  } else if (structure == Structure::upper || structure == Structure::lower) {
    found = diagonal_of(m, c, m.device());
  } else if (is_skew(m)) {
    dense_at(Operation::eigh, "eigvals", m,
             [&](const Array& a) { found = linalg::eigvals_skew(a); });
  } else if (is_self_adjoint(m)) {
    found = eigvalsh(m).astype(c);
  } else {
    dense_at(Operation::eig, "eigvals", m, [&](const Array& a) { found = linalg::eigvals(a); });
  }
  return found;
}

Array eigvals(AnyMatrix& m) {
  if (m.payload().shared) return eigvals(std::as_const(m));
  const Array known = m.properties().derived().eigenvalues;
  if (known) return copy_of_known(known);
  const Array found = eigvals(std::as_const(m));
  m.properties().keep(&Derived::eigenvalues, found);
  return copy_of_known(found);
}

linalg::Svd svd(const AnyMatrix& m, bool full_matrices) {
  linalg::Svd found;
  dense_at(Operation::svd, "svd", m,
           [&](const Array& a) { found = linalg::svd(a, full_matrices); });
  return found;
}

Array svdvals(const AnyMatrix& m) {
  const TagScope scope = tagged("svdvals", m, working(m));
  const Structure structure = structure_of(m);
  if (is_diagonal(structure)) return sizes_of_diagonal(m);
  if (structure == Structure::unitary || structure == Structure::permutation)
    return ones({m.rows()}, real_of(working(m)), m.device());
  Array found;
  dense_at(Operation::svd, "svdvals", m, [&](const Array& a) { found = linalg::svdvals(a); });
  return found;
}

AnyMatrix pinv(const AnyMatrix& m, double rtol) {
  const TagScope scope = tagged("pinv", m, working(m));
  const Structure structure = structure_of(m);
  if (structure == Structure::unitary || structure == Structure::permutation) return m.adjoint();
  if (is_diagonal(structure)) {
    const Array d = diagonal_as(m, working(m));
    return AnyMatrix::diagonal(inverted_where_large(d, relative(m, rtol)), m.cols(), m.rows());
  }
  std::optional<AnyMatrix> found;
  dense_at(Operation::svd, "pinv", m,
           [&](const Array& a) { found = AnyMatrix::dense(linalg::pinv(a, rtol)); });
  return *found;
}

Array matrix_rank(const AnyMatrix& m, double rtol) {
  Array found;
  dense_at(Operation::svd, "matrix_rank", m,
           [&](const Array& a) { found = linalg::matrix_rank(a, rtol); });
  return found;
}

linalg::Lstsq lstsq(const AnyMatrix& m, const Array& b, double rcond) {
  const DType t = working(m);
  const TagScope scope = tagged("lstsq", m, t);
  linalg::Lstsq found;
  const auto solve_at = [&](Device where) {
    tag(where, "lstsq", TagDetail::plain, t);
    found = linalg::lstsq(m.array(t, where), b.to(where), rcond);
  };
  prefetch({&m});
  if (settled_device({&m})) {
    solve_at(b.device());
    return found;
  }
  placed_by_context({Operation::svd, t, m.rows(), m.cols()}, {&m}, b.size() * size_of(t), solve_at);
  for (Array* part : {&found.x, &found.residuals, &found.s}) *part = part->to(b.device());
  return found;
}

Array norm(const AnyMatrix& m, NormOrder order) {
  const TagScope scope = tagged("norm", m, working(m));
  if (is_frobenius(order)) return number(frobenius_norm(m), m);
  Array found;
  dense_at(Operation::reduce, "norm", m, [&](const Array& a) { found = linalg::norm(a, order); });
  return found;
}

Array cond(const AnyMatrix& m, NormOrder order) {
  const TagScope scope = tagged("cond", m, working(m));
  const Structure structure = structure_of(m);
  const bool by_values =
      order.kind == NormOrder::plain || (order.kind == NormOrder::number && order.p == 2);
  if (by_values && (structure == Structure::unitary || structure == Structure::permutation))
    return number(1, m);
  if (by_values && is_diagonal(structure) && m.rows() > 0 && m.cols() > 0) {
    const Array s = sizes_of_diagonal(m);
    return ops::divide(s.select(0, 0), s.select(0, s.size() - 1));
  }
  Array found;
  dense_at(Operation::svd, "cond", m, [&](const Array& a) { found = linalg::cond(a, order); });
  return found;
}

}  // namespace tessera
