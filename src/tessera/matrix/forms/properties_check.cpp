// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/properties_check.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/forms/counting.hpp"

namespace tessera {
namespace {

bool triangular(const Array& a, bool lower) {
  return nonzeros(a) == nonzeros(linalg::triangle(a, lower));
}

bool unit_diagonal(const Array& a) { return all_of(ops::equal(linalg::diagonal(a), Value(1))); }

bool anti_symmetric(const Array& a) {
  if (a.dtype() == DType::b1) return !any_of(a);
  const Array t = a.transpose();
  if (!all_of(ops::equal(a, ops::negative(t)))) return false;
  if (!is_integer(a.dtype())) return true;
  // Negatives of integers may wrap; then both have one sign.
  const Value zero(0);
  return !any_of(ops::logical_and(ops::greater(a, zero), ops::greater(t, zero))) &&
         !any_of(ops::logical_and(ops::less(a, zero), ops::less(t, zero)));
}

bool permutation(const Array& a) {
  const Array ones = ops::equal(a, Value(1));
  const auto one_each = [&](i64 axis) {
    return all_of(ops::equal(reduce(ReduceOp::count_nonzero, ones, Axes{axis}), Value(1)));
  };
  return nonzeros(a) == nonzeros(ones) && one_each(0) && one_each(1);
}

double rounding_of(DType t) {
  switch (real_of(t)) {
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f32: return 0x1p-23;
    default: return 0x1p-52;
  }
}

bool unitary(const Array& a) {
  if (a.size() == 0) return true;
  const Array w = a.astype(linalg::working_dtype(a.dtype()));
  const i64 n = w.shape(0);
  const Array gram = matmul(ops::conj(w.transpose()), w);
  const Array off = ops::subtract(gram, eye(n, n, 0, w.dtype(), w.device()));
  const double most = reduce(ReduceOp::max, ops::absolute(off)).item().as<double>();
  return most <= 8 * static_cast<double>(n) * rounding_of(a.dtype());
}

// Of one row or one column.
bool sorted(const Array& a, bool strictly) {
  const Array x = a.reshape({a.size()});
  if (x.size() < 2) return true;
  const Array before = x.slice(0, 0, x.size() - 1), after = x.slice(0, 1, x.size());
  return all_of(strictly ? ops::less(before, after) : ops::less_equal(before, after));
}

bool unit_norm(const Array& a) {
  const double size = linalg::norm(a.astype(linalg::working_dtype(a.dtype()))).item().as<double>();
  return std::abs(size - 1) <= 8 * static_cast<double>(a.size()) * rounding_of(a.dtype());
}

bool atomic(const Array& a) {
  if (!unit_diagonal(a) || !(triangular(a, false) || triangular(a, true))) return false;
  const Array in_column = reduce(ReduceOp::count_nonzero, a, Axes{0});
  return nonzeros(ops::greater(in_column, Value(1))) <= 1;
}

}  // namespace

bool check(const AnyMatrix& m, Property p) {
  if (m.rows() != m.cols() && needs_square(p)) return false;
  if (m.rows() != 1 && m.cols() != 1 && needs_vector(p)) return false;
  AnyMatrix bare = m;
  bare.properties() = Properties(m.rows(), m.cols());
  if (bare.is(p)) return true;
  const Array a = m.array();
  const bool complex = is_complex(a.dtype());
  switch (p) {
    case Property::is_zero: return !any_of(a);
    case Property::is_identity:
      return all_of(ops::equal(a, eye(m.rows(), m.cols(), 0, a.dtype(), a.device())));
    case Property::is_permutation: return permutation(a);
    case Property::is_diagonal: return nonzeros(a) == nonzeros(linalg::diagonal(a));
    case Property::is_upper_triangular: return triangular(a, false);
    case Property::is_lower_triangular: return triangular(a, true);
    case Property::has_unit_diagonal: return unit_diagonal(a);
    case Property::has_zero_diagonal: return !any_of(linalg::diagonal(a));
    case Property::is_symmetric: return all_of(ops::equal(a, a.transpose()));
    case Property::is_anti_symmetric: return anti_symmetric(a);
    case Property::is_hermitian: return all_of(ops::equal(a, ops::conj(a.transpose())));
    case Property::is_skew_hermitian:
      return complex ? all_of(ops::equal(a, ops::negative(ops::conj(a.transpose()))))
                     : anti_symmetric(a);
    case Property::is_unitary: return unitary(a);
    case Property::is_sorted:
    case Property::is_strictly_sorted: return sorted(a, p == Property::is_strictly_sorted);
    case Property::is_unit_norm: return unit_norm(a);
    default: return atomic(a);
  }
}

}  // namespace tessera
