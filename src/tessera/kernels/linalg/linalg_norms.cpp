// SPDX-License-Identifier: Apache-2.0
// Norms, condition, and the parts of a matrix.
#include <algorithm>
#include <cmath>

#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/linalg/stack.hpp"

namespace tessera::linalg {
namespace {

// The largest or the smallest of sizes. Where there are none the largest is 0, and there is no
// smallest: reduce says so.
Array extreme(bool largest, const Array& sizes, const Shape& axes, bool keepdims = false) {
  const auto is_empty = [&](i64 axis) { return sizes.shape(axis) == 0; };
  if (largest && std::any_of(axes.begin(), axes.end(), is_empty))
    return reduce(ReduceOp::sum, sizes, axes, keepdims);
  return reduce(largest ? ReduceOp::max : ReduceOp::min, sizes, axes, keepdims);
}

Array vector_norm(const Array& x, NormOrder order, const Shape& axes, bool keepdims) {
  require<ArgumentError>(order.kind == NormOrder::plain || order.kind == NormOrder::number,
                         "norm: Invalid norm order for vectors; 'fro' and 'nuc' are for matrices");
  const double p = order.kind == NormOrder::plain ? 2 : order.p;
  if (p == 2) return ops::sqrt(reduce(ReduceOp::sum_abs2, x, axes, keepdims));
  const Array size = ops::absolute(x);
  if (std::isinf(p)) return extreme(p > 0, size, axes, keepdims);
  if (p == 0) return reduce(ReduceOp::count_nonzero, x, axes, keepdims).astype(size.dtype());
  if (p == 1) return reduce(ReduceOp::sum, size, axes, keepdims);
  return ops::power(reduce(ReduceOp::sum, ops::power(size, p), axes, keepdims), 1 / p);
}

// The matrices along two axes brought to the end.
Array matrices_of(const Array& x, i64 row, i64 column) {
  Shape order;
  for (i64 i = 0; i < x.ndim(); ++i)
    if (i != row && i != column) order.push_back(i);
  order.push_back(row);
  order.push_back(column);
  return x.permute({order.begin(), order.end()});
}

Array by_singular_values(const Array& m, NormOrder order) {
  const Array s = svdvals(m);
  if (order.kind == NormOrder::nuclear) return reduce(ReduceOp::sum, s, Axes{s.ndim() - 1});
  return extreme(order.p > 0, s, {s.ndim() - 1});
}

Array matrix_norm(const Array& x, NormOrder order, i64 row, i64 column, bool keepdims) {
  require<ArgumentError>(row != column, "norm: Duplicate axes given.");
  if (order.kind == NormOrder::plain || order.kind == NormOrder::frobenius)
    return ops::sqrt(reduce(ReduceOp::sum_abs2, x, Axes{row, column}, keepdims));
  const Array m = matrices_of(x, row, column);
  Array r;
  if (order.kind == NormOrder::nuclear || std::abs(order.p) == 2) {
    r = by_singular_values(m, order);
  } else {
    const bool sums_of_rows = std::isinf(order.p);
    require<ArgumentError>(sums_of_rows || std::abs(order.p) == 1,
                           "norm: Invalid norm order for matrices: ", order.p);
    const i64 last = m.ndim() - 1;
    const Array sums =
        reduce(ReduceOp::sum, ops::absolute(m), Axes{sums_of_rows ? last : last - 1});
    r = extreme(order.p > 0, sums, {last - 1});
  }
  if (!keepdims) return r;
  const auto [first, second] = std::minmax(row, column);
  return r.expand_dims(first).expand_dims(second);
}

}  // namespace

Array norm(const Array& x, NormOrder order, const std::optional<Shape>& axes, bool keepdims) {
  const TagScope scope = tagged("norm", x);
  const Array y = is_inexact(x.dtype()) ? x : x.astype(DType::f64);
  Shape along;
  if (axes) {
    for (const i64 axis : *axes) {
      along.push_back(normalize_axis(axis, x.ndim(), "norm"));
    }
  } else {
    for (i64 i = 0; i < x.ndim(); ++i) along.push_back(i);
    if (order.kind == NormOrder::plain) return vector_norm(y, order, along, keepdims);
  }
  require<ArgumentError>(along.size() == 1 || along.size() == 2,
                         "norm: Improper number of dimensions to norm: ", along.size(),
                         "; expected one axis (vectors) or two (matrices)");
  return along.size() == 1 ? vector_norm(y, order, along, keepdims)
                           : matrix_norm(y, order, along[0], along[1], keepdims);
}

Array cond(const Array& a, NormOrder order) {
  const TagScope scope = tagged("cond", a);
  require_matrices("cond", a);
  require<LinAlgError>(rows(a) > 0 && columns(a) > 0, "cond: cond is not defined on empty arrays");
  const bool two =
      order.kind == NormOrder::plain || (order.kind == NormOrder::number && std::abs(order.p) == 2);
  Array r;
  if (two) {
    const Array s = svdvals(a);
    const i64 last = s.ndim() - 1, k = s.shape(last);
    const Array most = s.select(last, 0), least = s.select(last, k - 1);
    r = order.kind == NormOrder::number && order.p < 0 ? ops::divide(least, most)
                                                       : ops::divide(most, least);
  } else {
    require_square("cond", a);
    const Shape both{a.ndim() - 2, a.ndim() - 1};
    r = ops::multiply(norm(a, order, both), norm(inverse_or_nan(a), order, both));
  }
  // What is not a number though the matrix is made of numbers has no inverse.
  const Array given = reduce(ReduceOp::any, ops::isnan(a), Axes{a.ndim() - 2, a.ndim() - 1});
  const Array lost = ops::logical_and(ops::isnan(r), ops::logical_not(given));
  return ops::where(lost, std::numeric_limits<double>::infinity(), r);
}

Array diagonal(const Array& a, i64 offset) {
  require_matrices("diagonal", a);
  Layout l = a.layout();
  const i64 rank = l.ndim(), down = l.strides[rank - 2], right = l.strides[rank - 1];
  const i64 row = std::max<i64>(0, -offset), column = std::max<i64>(0, offset);
  const i64 n = std::max<i64>(0, std::min(rows(a) - row, columns(a) - column));
  if (n > 0) l.offset += row * down + column * right;
  l.shape.pop_back();
  l.strides.pop_back();
  l.shape[rank - 2] = n;
  l.strides[rank - 2] = down + right;
  return a.view(l);
}

Array trace(const Array& a, i64 offset) {
  require_matrices("trace", a);
  const TagScope scope(name(a.device().kind), "trace", a.dtype());
  return reduce(ReduceOp::sum, diagonal(a, offset), Axes{a.ndim() - 2});
}

Array triangle(const Array& a, bool lower, i64 offset) {
  require_matrices("triangle", a);
  const auto count = [&](i64 n) {
    return arange(Value(0), Value(n), Value(1), DType::i64, a.device());
  };
  const Array i = ops::add(count(rows(a)).expand_dims(1), Value(offset)),
              j = count(columns(a)).expand_dims(0);
  const Array zero = zeros({}, a.dtype(), a.device());
  return ops::where(lower ? ops::greater_equal(i, j) : ops::less_equal(i, j), a, zero);
}

}  // namespace tessera::linalg
