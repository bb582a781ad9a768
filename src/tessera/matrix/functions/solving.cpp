// SPDX-License-Identifier: Apache-2.0
// Inverses, systems and determinants; factors and spectra are in solving_spectra.cpp.
#include "tessera/matrix/functions/solving.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "tessera/base/by_squaring.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stacks.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/forms/structure.hpp"
#include "tessera/matrix/functions/scaling.hpp"
#include "tessera/matrix/products/multiply.hpp"

namespace tessera {
namespace {

using Number = std::complex<double>;

bool is_triangle(Structure s) { return s == Structure::upper || s == Structure::lower; }

// A zero among the divisors, by its row.
void require_divisors(std::string_view who, const AnyMatrix& m) {
  const std::vector<Number> d = diagonal_numbers(m);
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] == Number(0)) throw_singular(who, m, cat("has a zero on its diagonal, row ", i + 1));
}

AnyMatrix reciprocal_diagonal(const AnyMatrix& m, DType t) {
  require_divisors("inverse", m);
  const Array d = diagonal_of(m, t, m.device());
  return AnyMatrix::diagonal(ops::reciprocal(d), m.rows(), m.cols());
}

// The inverse of an upper triangle in its place, from the last strip up. Where C is the corner of a
// strip, R what lies right of it and X the inverse of what lies below, these become C⁻¹ and -C⁻¹ R
// X.
void invert_strips(const Strips& strips, const Array& data, bool unit) {
  const i64 n = strips.n();
  const std::vector<Strip>& list = strips.list();
  for (std::size_t k = list.size(); k-- > 0;) {
    const Strip& s = list[k];
    const i64 h = s.end - s.begin;
    const Array part = strips.part(data, s), corner = part.slice(1, 0, h);
    if (s.end < n) {
      const Array rest = part.slice(1, h, s.width),
                  sum = zeros({h, n - s.end}, data.dtype(), data.device());
      for (std::size_t j = k + 1; j < list.size(); ++j) {
        const i64 from = list[j].begin - s.end, to = list[j].end - s.end;
        subtract_product(rest.slice(1, from, to), strips.part(data, list[j]),
                         sum.slice(1, from, n - s.end));
      }
      rest.copy_from(linalg::solve_triangular(corner, sum, {.unit = unit}));
    }
    const Array one = eye(h, h, 0, data.dtype(), data.device());
    corner.copy_from(linalg::solve_triangular(corner, one, {.unit = unit}));
  }
  strips.clear_corners(data, /*strict=*/false);
}

// Takes the memory of the result and a strip.
AnyMatrix inverse_of_triangle(const AnyMatrix& m, bool lower, bool unit, DType own, Device where) {
  const AnyMatrix packed = m.form() == Form::triangular
                               ? m
                               : AnyMatrix::triangular(m.array(own, where), lower, false, false);
  const Array shared = packed.data(where), numbers = shared.astype(own),
              data = may_share_memory(shared, numbers) ? numbers.copy() : numbers;
  invert_strips(packed.payload().strips(), data, unit);
  const AnyMatrix x = packed_matrix(Form::triangular, m.rows(), data, false, lower);
  return packed.conjugated() ? x.conj() : x;
}

AnyMatrix inverse_at(const AnyMatrix& m, Structure structure, DType t, Device where) {
  const AnyMatrix bare = unscaled(m, where);
  const DType own = linalg::working_dtype(bare.dtype());
  tag(where, "inverse", TagDetail::plain, t);
  if (structure == Structure::upper || structure == Structure::lower)
    return inverse_of_triangle(bare, structure == Structure::lower,
                               m.is(Property::has_unit_diagonal), own, where);
  const Array x = linalg::inverse(bare.array(own, where));
  if (structure == Structure::symmetric) return AnyMatrix::symmetric(x, false);
  if (structure == Structure::antisymmetric) return AnyMatrix::antisymmetric(x, false);
  return AnyMatrix::dense(x);
}

// Substitution on packed data: the corners of strips are solved with, the rest is products. x is
// the right side and becomes the solution.
void substitute(const AnyMatrix& m, const Array& data, const Array& x, bool unit) {
  const Strips strips = m.payload().strips();
  const i64 n = strips.n();
  const std::vector<Strip>& list = strips.list();
  for (std::size_t k = 0; k < list.size(); ++k) {
    const Strip& s = m.transposed() ? list[k] : list[list.size() - 1 - k];
    const i64 h = s.end - s.begin;
    const Array part = strips.part(data, s), corner = part.slice(1, 0, h),
                rest = part.slice(1, h, s.width), rows = x.slice(0, s.begin, s.end),
                below = x.slice(0, s.end, n);
    if (!m.transposed() && s.end < n) subtract_product(rest, below, rows);
    rows.copy_from(linalg::solve_triangular(
        corner, rows, {.turn = m.transposed() ? Turn::transposed : Turn::none, .unit = unit}));
    if (m.transposed() && s.end < n) subtract_product(rest.transpose(), rows, below);
  }
}

Array solve_packed(const AnyMatrix& m, const Array& b, DType t) {
  const bool unit = m.is(Property::has_unit_diagonal), conj = m.conjugated() && is_complex(t);
  if (!unit) require_divisors("solve", m);
  // conj(A) x = b where A conj(x) = conj(b)
  const Array x = conj ? ops::conj(b.astype(t)) : b.astype(t).copy();
  substitute(m, m.data(b.device()).astype(t), x, unit);
  return conj ? ops::conj(x) : x;
}

// The matrix without its scale; b has two axes.
Array solve_bare(const AnyMatrix& m, Structure structure, const Array& b, DType t) {
  if (m.form() == Form::triangular) return solve_packed(m, b, t);
  const Array a = unscaled(m, b.device()).array(t, b.device());
  if (structure == Structure::upper || structure == Structure::lower)
    return linalg::solve_triangular(
        a, b.astype(t),
        {.lower = structure == Structure::lower, .unit = m.is(Property::has_unit_diagonal)});
  return linalg::solve(a, b.astype(t));
}

// Where the right side lies, or where the context says; the solution comes back to it.
Array solve_somewhere(const AnyMatrix& m, Structure structure, const Array& b, DType t) {
  prefetch({&m});
  if (settled_device({&m})) return solve_bare(m, structure, b, t);
  Array x;
  Workload problem{Operation::solve, t, m.rows(), b.shape(1), m.rows()};
  problem.triangular = is_triangle(structure);
  placed_by_context(problem, {&m}, b.size() * size_of(t), [&](Device where) {
    tag(where, "solve", TagDetail::plain, t);
    x = solve_bare(m, structure, b.to(where), t).to(b.device());
  });
  return x;
}

void require_not_singular(std::string_view who, const AnyMatrix& m, Structure structure) {
  if (m.rows() == 0) return;
  if (structure == Structure::zero) throw_singular(who, m, "is zero");
  if ((m.form() == Form::triangular && m.payload().strict) || m.form() == Form::triangular_bit)
    throw_singular(who, m, "has no diagonal");
  if (structure == Structure::antisymmetric && m.rows() % 2 == 1)
    throw_singular(who, m, "is antisymmetric of odd size");
}

Array divided(const Array& x, const Value& by) {
  if (by.as<c128>() == c128(1, 0)) return x;
  if (by.kind() == Value::Kind::complex) return ops::divide(x, by);
  return ops::divide(x, Value(by.as<double>()));
}

// Whole numbers stay whole.
Number power(Number z, i64 n) {
  return n == 0 ? Number(1) : by_squaring(z, magnitude_of(n), std::multiplies<Number>());
}

// Products that are formed on the host: of a diagonal, or of n equal factors.
struct Product {
  Number sign{1};
  double log = 0;
  void times(Number z, i64 often = 1) {
    const double size = std::abs(z);
    if (size == 0) {
      sign = 0;
      log = -std::numeric_limits<double>::infinity();
      return;
    }
    sign *= power(z / size, often);
    log += static_cast<double>(often) * std::log(size);
  }
};

Value number(Number z, DType t) { return is_complex(t) ? Value(c128(z)) : Value(z.real()); }

Number as_complex(const Value& v) {
  const c128 z = v.as<c128>();
  return {z.re, z.im};
}

// No determinant has to be computed where one of these holds.
bool vanishes(const AnyMatrix& m, Structure structure) {
  if (m.rows() == 0) return false;
  const bool hollow =
      m.form() == Form::triangular_bit || (m.form() == Form::triangular && m.payload().strict);
  return structure == Structure::zero || hollow ||
         (structure == Structure::antisymmetric && m.rows() % 2 == 1);
}

bool has_diagonal_determinant(Structure s) {
  return s == Structure::diagonal || s == Structure::upper || s == Structure::lower;
}

Product product_of_dense(const AnyMatrix& m, DType t) {
  Product p;
  placed({Operation::solve, t, m.rows(), 1, m.rows()}, {&m}, 0, [&](Device where) {
    const AnyMatrix bare = unscaled(m, where);
    tag(where, "slogdet", TagDetail::plain, t);
    const linalg::SlogDet d =
        linalg::slogdet(bare.array(linalg::working_dtype(bare.dtype()), where));
    p.sign = as_complex(d.sign.item());
    p.log = d.logabsdet.item().as<double>();
  });
  if (p.sign != Number(0)) p.times(as_complex(m.scale()), m.rows());
  return p;
}

Product product_of(const AnyMatrix& m, Structure structure, DType t) {
  Product p;
  if (vanishes(m, structure)) {
    p.times(0);
  } else if (structure == Structure::identity) {
    p.times(as_complex(factor_of_identity(m)), m.rows());
  } else if (has_diagonal_determinant(structure)) {
    for (const Number z : diagonal_numbers(m)) p.times(z);
  } else {
    p = product_of_dense(m, t);
  }
  return p;
}

// Small whole numbers stay exact; logarithms are for what overflows.
Number straight(const AnyMatrix& m, Structure structure, DType t) {
  if (vanishes(m, structure)) return 0;
  if (structure == Structure::identity) return power(as_complex(factor_of_identity(m)), m.rows());
  Number result = 1;
  if (has_diagonal_determinant(structure)) {
    for (const Number z : diagonal_numbers(m)) result *= z;
    return result;
  }
  placed({Operation::solve, t, m.rows(), 1, m.rows()}, {&m}, 0, [&](Device where) {
    const AnyMatrix bare = unscaled(m, where);
    tag(where, "determinant", TagDetail::plain, t);
    result = as_complex(linalg::det(bare.array(linalg::working_dtype(bare.dtype()), where)).item());
  });
  return result * power(as_complex(m.scale()), m.rows());
}

// Products of pivots leave the range only with the determinant itself (Note [determinants]): without
// a factor beside them a second factorization would say the same.
bool factored_in_range(const AnyMatrix& m, Structure s) {
  return s != Structure::identity && !has_diagonal_determinant(s) &&
         as_complex(m.scale()) == Number(1);
}

}  // namespace

AnyMatrix inverse(const AnyMatrix& m) {
  require_square("inverse", m);
  const DType t = linalg::working_dtype(m.dtype());
  const Structure structure = structure_of(m);
  require_not_singular("inverse", m, structure);
  const TagScope scope = tagged("inverse", m, t);
  switch (structure) {
    case Structure::identity: {
      const AnyMatrix one = AnyMatrix::identity(m.rows(), m.rows(), t, m.device());
      const Value factor = factor_of_identity(m);
      return factor.as<c128>() == c128(1, 0) ? one : one.scaled(reciprocal(factor));
    }
    case Structure::diagonal: return reciprocal_diagonal(m, t);
    case Structure::permutation: return m.transpose();
    case Structure::unitary: return m.adjoint();
    default: break;
  }
  Workload problem{Operation::inverse, t, m.rows(), m.rows(), m.rows()};
  problem.triangular = is_triangle(structure);
  if (problem.triangular && !m.is(Property::has_unit_diagonal)) require_divisors("inverse", m);
  std::optional<AnyMatrix> found;
  placed(problem, {&m}, m.rows() * m.rows() * size_of(t),
         [&](Device where) { found = inverse_at(m, structure, t, where); });
  return is_number(m.scale(), 1) ? *found : found->scaled(reciprocal(m.scale()));
}

AnyMatrix matrix_power(const AnyMatrix& m, i64 n) {
  require_square("matrix_power", m);
  const DType t = m.dtype();
  if (n == 0)
    return AnyMatrix::identity(m.rows(), m.rows(), resolve(MatrixOp::matmul, t, t).dtype,
                               m.device());
  const TagScope scope = tagged("matrix_power", m, t);
  return by_squaring(n < 0 ? inverse(m) : m, magnitude_of(n),
                     [](const AnyMatrix& a, const AnyMatrix& b) { return matmul(a, b); });
}

Array solve(const AnyMatrix& m, const Array& b) {
  require_square("solve", m);
  const bool fits = b.ndim() > 0 && b.shape(std::max<i64>(b.ndim() - 2, 0)) == m.rows();
  require<ShapeError>(fits, "solve: ", described(m), " and a right side of shape ", b.shape(),
                      " do not fit");
  const DType t = promote(linalg::working_dtype(m.dtype()), linalg::working_dtype(b.dtype()));
  const TagScope scope(name(b.device().kind), "solve", t);
  if (b.ndim() > 2) return stacked(solve(m, side_by_side(b)), b.shape());
  const Structure structure = structure_of(m);
  require_not_singular("solve", m, structure);
  const bool vector = b.ndim() == 1;
  const Array right = vector ? b.expand_dims(1) : b;
  Array x;
  switch (structure) {
    case Structure::identity: x = divided(right.astype(t), factor_of_identity(m)); break;
    case Structure::diagonal: {
      require_divisors("solve", m);
      x = ops::divide(right.astype(t), diagonal_of(m, t, b.device()).expand_dims(1));
      break;
    }
    case Structure::permutation: x = matmul(m.transpose(), right.astype(t)); break;
    case Structure::unitary: x = matmul(m.adjoint(), right.astype(t)); break;
    default: x = divided(solve_somewhere(m, structure, right, t), m.scale());
  }
  return vector ? x.squeeze(1) : x;
}

Array solve_triangular(const AnyMatrix& m, const Array& b, const linalg::TriangularOptions& o) {
  require_square("solve_triangular", m);
  const bool as_it_is = m.form() == Form::triangular && m.lower() == o.lower &&
                        !(o.unit && (m.payload().strict || !is_number(m.scale(), 1)));
  const TagScope scope(name(b.device().kind), "solve_triangular",
                       promote(linalg::working_dtype(m.dtype()), linalg::working_dtype(b.dtype())));
  AnyMatrix t =
      as_it_is ? m : AnyMatrix::triangular(m.array({}, b.device()), o.lower, false, false);
  if (o.turn == Turn::transposed) t = t.transpose();
  if (o.turn == Turn::adjoint) t = t.adjoint();
  if (o.unit) {
    t.properties() = Properties(t.rows(), t.cols());
    t.properties().declare(Property::has_unit_diagonal, true);
  }
  return solve(t, b);
}

Value determinant(const AnyMatrix& m) {
  require_square("determinant", m);
  if (const auto known = m.properties().derived().determinant) return *known;
  const DType t = linalg::working_dtype(m.dtype());
  const TagScope scope = tagged("determinant", m, t);
  const Structure structure = structure_of(m);
  Number d = straight(m, structure, t);
  const bool left_range = !std::isfinite(d.real()) || !std::isfinite(d.imag()) || d == Number(0);
  if (left_range && !factored_in_range(m, structure)) {
    const Product p = product_of(m, structure, t);
    if (!std::isnan(p.log)) d = p.sign == Number(0) ? Number(0) : p.sign * std::exp(p.log);
  }
  return number(d, t);
}

Value determinant(AnyMatrix& m) {
  if (m.payload().shared) return determinant(std::as_const(m));
  const Value found = determinant(std::as_const(m));
  m.properties().keep(&Derived::determinant, found);
  return found;
}

LogDeterminant slogdet(const AnyMatrix& m) {
  require_square("slogdet", m);
  const DType t = linalg::working_dtype(m.dtype());
  const TagScope scope = tagged("slogdet", m, t);
  const Product p = product_of(m, structure_of(m), t);
  return {number(p.sign, t), p.log};
}

}  // namespace tessera
