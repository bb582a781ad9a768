// SPDX-License-Identifier: Apache-2.0
// Systems of equations, inverses, determinants, LU and Cholesky.
#include "tessera/kernels/linalg/linalg.hpp"

#include "tessera/base/by_squaring.hpp"
#include "tessera/kernels/linalg/small.hpp"
#include "tessera/kernels/linalg/stack.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera::linalg {
namespace {

constexpr const char* singular = "Singular matrix";
constexpr const char* zero_pivot = "zero pivot";

// x of each matrix, NaN where it is singular, and what LAPACK says of it.
Array inverted(const Array& a, const Array& info) {
  const DType t = working_dtype(a.dtype());
  const Array m = columns_of(a, t), x = room(a.shape(), t, a);
  if (a.size() == 0) return x;
  const TurnedAround lower(m);
  factor(spec_of(DenseOp::inverse, a, t), a.device(), {&m, &x, &info});
  lower.matrices(x);
  lower.pivots(info);
  return turned(x).contiguous();
}

Array zero_info(const Array& a) { return zeros(leading(a), DType::i64, a.device()).contiguous(); }

// A triangle that is only read: as it lies where that is dense, else a copy.
Array readable(const Array& a, DType t) {
  return a.dtype() == t && a.is_contiguous() ? a : rows_of(a, t);
}

}  // namespace

Array solve(const Array& a, const Array& b) {
  const TagScope scope = tagged("solve", a);
  if (small::is_plain(a, b)) return small::solve_plain("solve", a, b);
  const Sides s("solve", a, b);
  if (small::fits(s.n, s.device) && !(s.one && !s.lead.empty())) {
    const Array x = small::solve("solve", s.a.astype(s.dtype), s.b.astype(s.dtype));
    return s.vector ? x.squeeze(x.ndim() - 1) : x;
  }
  const Array x = s.right();
  if (s.a.size() == 0) return s.result(x);
  const Array m = columns_of(s.a, s.dtype), info = room(leading(s.a), DType::i64, m),
              pivots = room(with(leading(s.a), {s.n}), DType::i64, m),
              order = room(with(leading(s.a), {s.n}), DType::i64, m);
  const TurnedAround lower(m);
  factor(s.spec(DenseOp::lu), s.device, {&m, &pivots, &order, &info});
  lower.pivots(info);
  require_done("solve", info, singular, zero_pivot);
  if (x.size() == 0) return s.result(x);
  lower.rows(x);
  factor(s.spec(DenseOp::lu_solve), s.device, {&m, &pivots, &x});
  lower.rows(x);
  return s.result(x);
}

Array inverse(const Array& a) {
  const TagScope scope = tagged("inverse", a);
  require_square("inverse", a);
  const DType t = working_dtype(a.dtype());
  if (small::fits(rows(a), a.device())) return small::solve("inverse", a.astype(t), {});
  const Array info = zero_info(a), x = inverted(a, info);
  require_done("inverse", info, singular, zero_pivot);
  return x;
}

Array matrix_power(const Array& a, i64 n) {
  const TagScope scope = tagged("matrix_power", a);
  require_square("matrix_power", a);
  if (n == 0) return eye(rows(a), rows(a), 0, a.dtype(), a.device()).broadcast_to(a.shape()).copy();
  if (n == 1) return a.copy();
  return by_squaring(n < 0 ? inverse(a) : a, magnitude_of(n),
                     [](const Array& x, const Array& y) { return matmul(x, y); });
}

Array inverse_or_nan(const Array& a) { return inverted(a, zero_info(a)); }

Array solve_triangular(const Array& a, const Array& b, const TriangularOptions& options) {
  const TagScope scope = tagged("solve_triangular", a);
  const Sides s("solve_triangular", a, b);
  const Array x = s.right();
  if (s.a.size() == 0 || x.size() == 0) return s.result(x);
  DenseSpec spec = s.spec(DenseOp::triangular_solve);
  spec.unit = options.unit;
  spec.lower = options.lower;
  spec.turn = options.turn;
  const bool by_columns = options.turn == Turn::adjoint && is_complex(s.dtype);
  if (!by_columns) {
    spec.lower = !options.lower;
    spec.turn = options.turn == Turn::none ? Turn::transposed : Turn::none;
  }
  const Array m = by_columns ? columns_of(s.a, s.dtype) : readable(s.a, s.dtype),
              info = room(leading(s.a), DType::i64, m);
  factor(spec, s.device, {&m, &x, &info});
  require_done("solve_triangular", info, singular, "zero on the diagonal, row");
  return s.result(x);
}

Lu::Lu(const Array& a, std::string_view who) {
  const TagScope scope = tagged(who, a);
  require_matrices(who, a);
  const DType t = working_dtype(a.dtype());
  const Shape lead = leading(a);
  packed_ = columns_of(a, t);
  pivots_ = room(with(lead, {std::min(tessera::linalg::rows(a), columns(a))}), DType::i64, a);
  rows_ = room(with(lead, {tessera::linalg::rows(a)}), DType::i64, a);
  if (a.size() == 0) {
    info_ = zero_info(a);
    rows_.copy_from(
        arange(Value(0), Value(rows_.shape(rows_.ndim() - 1)), Value(1), DType::i64, a.device()));
    return;
  }
  info_ = room(lead, DType::i64, a);
  factor(spec_of(DenseOp::lu, a, t), a.device(), {&packed_, &pivots_, &rows_, &info_});
}

Shape Lu::shape() const { return turned(packed_).shape(); }

Array Lu::solve(const Array& b, Turn turn) const {
  const TagScope scope = tagged("lu_solve", b);
  const Sides s("Lu.solve", turned(packed_), b);
  require_done("Lu.solve", info_, singular, zero_pivot);
  const Array x = s.right();
  if (x.size() == 0) return s.result(x);
  DenseSpec spec = s.spec(DenseOp::lu_solve);
  spec.turn = turn;
  const bool as_it_is = s.dtype == packed_.dtype() && (s.one || s.a.shape() == shape());
  const Array m = as_it_is ? packed_ : columns_of(s.a, s.dtype);
  const Array pivots =
      s.one ? pivots_ : rows_of(pivots_.broadcast_to(with(s.lead, {s.n})), DType::i64);
  factor(spec, s.device, {&m, &pivots, &x});
  return s.result(x);
}

Array Lu::p() const {
  const TagScope scope = tagged("lu", packed_);
  const i64 m = rows_.shape(rows_.ndim() - 1);
  const Array each = arange(Value(0), Value(m), Value(1), DType::i64, rows_.device());
  return ops::equal(each.expand_dims(1), rows_.expand_dims(rows_.ndim() - 1))
      .astype(real_of(packed_.dtype()));
}

Array Lu::l() const {
  const TagScope scope = tagged("lu", packed_);
  const Array f = turned(packed_);
  const i64 k = std::min(tessera::linalg::rows(f), columns(f));
  const Array below = triangle(f.slice(f.ndim() - 1, 0, k), true, -1);
  return ops::add(below, eye(tessera::linalg::rows(f), k, 0, f.dtype(), f.device()));
}

Array Lu::u() const {
  const TagScope scope = tagged("lu", packed_);
  const Array f = turned(packed_);
  return triangle(f.slice(f.ndim() - 2, 0, std::min(tessera::linalg::rows(f), columns(f))), false);
}

Array cholesky(const Array& a, bool upper) {
  const TagScope scope = tagged("cholesky", a);
  require_square("cholesky", a);
  const DType t = working_dtype(a.dtype());
  const Array x = rows_of(a, t);
  if (a.size() == 0) return x;
  DenseSpec spec = spec_of(DenseOp::cholesky, a, t);
  spec.lower = upper;  // of the transpose
  const Array info = room(leading(a), DType::i64, a);
  factor(spec, a.device(), {&x, &info});
  require_done("cholesky", info, "Matrix is not positive definite", "leading minor of order");
  return x;
}

Cholesky::Cholesky(const Array& a) {
  const Array l = cholesky(a);
  packed_ = columns_of(l, l.dtype());
}

Array Cholesky::l() const { return turned(packed_).contiguous(); }

Array Cholesky::solve(const Array& b) const {
  const TagScope scope = tagged("cholesky_solve", b);
  const Sides s("Cholesky.solve", turned(packed_), b);
  const Array x = s.right();
  if (x.size() == 0) return s.result(x);
  const bool as_it_is =
      s.dtype == packed_.dtype() && (s.one || s.a.shape() == turned(packed_).shape());
  const Array m = as_it_is ? packed_ : columns_of(s.a, s.dtype);
  factor(s.spec(DenseOp::cholesky_solve), s.device, {&m, &x});
  return s.result(x);
}

namespace {

struct Determinant {
  Array sign, logs, det;
};

Determinant determinant(std::string_view who, const Array& a) {
  const TagScope scope = tagged(who, a);
  require_square(who, a);
  const DType t = working_dtype(a.dtype());
  const Shape lead = leading(a);
  if (a.size() == 0)
    return {ones(lead, t, a.device()), zeros(lead, real_of(t), a.device()),
            ones(lead, t, a.device())};
  const Array m = columns_of(a, t);
  const TurnedAround lower(m);
  const Determinant d{room(lead, t, a), room(lead, real_of(t), a), room(lead, t, a)};
  factor(spec_of(DenseOp::slogdet, a, t), a.device(), {&m, &d.sign, &d.logs, &d.det});
  return d;
}

}  // namespace

SlogDet slogdet(const Array& a) {
  const Determinant d = determinant("slogdet", a);
  return {d.sign, d.logs};
}

Array det(const Array& a) { return determinant("det", a).det; }

}  // namespace tessera::linalg
