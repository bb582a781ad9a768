// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/functions/reductions.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/tags.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/forms/checked.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

constexpr std::string_view no_room = "sum: the sum does not fit 64 bits";

// Halves are summed in float32.
Value total(const Array& x) {
  if (!is_inexact(x.dtype())) return checked_sum(x);
  return reduce(ReduceOp::sum, is_half(x.dtype()) ? x.astype(DType::f32) : x).item();
}

Value plus(const Value& a, const Value& b) {
  if (a.kind() == Value::Kind::complex || b.kind() == Value::Kind::complex)
    return Value(a.as<c128>() + b.as<c128>());
  if (!a.is_integer() || !b.is_integer()) return Value(a.as<double>() + b.as<double>());
  if (a.kind() == Value::Kind::natural || b.kind() == Value::Kind::natural) {
    std::uint64_t sum = 0;
    require<OverflowError>(
        !__builtin_add_overflow(a.as<std::uint64_t>(), b.as<std::uint64_t>(), &sum), no_room);
    return Value(sum);
  }
  i64 sum = 0;
  require<OverflowError>(!__builtin_add_overflow(a.as<i64>(), b.as<i64>(), &sum), no_room);
  return Value(sum);
}

Value minus(const Value& a, const Value& b) {
  if (b.kind() == Value::Kind::natural)  // a part is taken from a whole: no less than zero
    return Value(a.as<std::uint64_t>() - b.as<std::uint64_t>());
  return plus(a, *product_of(b, Value(-1)));
}

Value scaled_value(const Value& v, const Value& by) {
  if (is_number(by, 1)) return by.is_integer() ? v : plus(v, Value(0.0));
  const std::optional<Value> product = product_of(v, by);
  require<OverflowError>(product.has_value(), no_room);
  return *product;
}

Value conjugate(const Value& v) {
  if (v.kind() != Value::Kind::complex) return v;
  const c128 z = v.as<c128>();
  return Value(c128(z.re, -z.im));
}

// Of bits: products with ones count the rows.
Value count_of_bits(const AnyMatrix& m, Device where) {
  const Bits bits = m.transposed() ? m.transpose().words(where) : m.words(where);
  return total(bit_dense(bits, ones({bits.columns}, DType::i64, where)));
}

// Before conjugates and scales.
Value sum_of_stored(const AnyMatrix& m, Device where) {
  switch (m.form()) {
    case Form::identity: return Value(std::min(m.rows(), m.cols()));
    case Form::antisymmetric:  // each number and its negative: NaN where that is no zero
      if (!is_inexact(m.payload().dtype)) return Value(0);
      return total(ops::multiply(m.data(where), Value(0)));
    case Form::bit:
    case Form::triangular_bit: return count_of_bits(m, where);
    case Form::symmetric: {  // the upper half, and what is above the diagonal once more
      const Strips strips = m.payload().strips();
      const Array data = m.data(where);
      Value half = total(data), above = half;
      for (const Strip& s : strips.list())
        above = minus(above, total(diagonal_view(strips.part(data, s))));
      const Value both = plus(half, above);
      return is_finite(both) ? both : total(strips.unpack(data, Below::same));
    }
    default: return total(m.data(where));
  }
}

// Scaled integers as they are read: their sum may fit though that of the stored ones does not, and
// is a float where the scale is one.
AnyMatrix summed_as(const AnyMatrix& m) {
  const bool counted = has_words(m) || m.form() == Form::identity;
  if (counted || is_inexact(m.payload().dtype) || is_integer_one(m.scale())) return m;
  return m.copy();
}

// A count is of the kind of the elements.
Value value_in(const Value& v, DType t) {
  if (is_complex(t) && v.kind() != Value::Kind::complex) return Value(v.as<c128>());
  return is_inexact(t) && v.is_integer() ? Value(v.as<double>()) : v;
}

Workload problem_of_all(const AnyMatrix& m) {
  return {Operation::reduce, is_inexact(m.dtype()) ? m.dtype() : DType::f64, m.rows() * m.cols()};
}

void require_square(const AnyMatrix& m) {
  if (m.rows() != m.cols())
    throw ShapeError(cat("trace: ", described(m), "; expected a square matrix"));
}

// sum |x|^2 of numbers, in float64.
double squares(const Array& x) {
  const DType wide = is_complex(x.dtype()) ? DType::c128 : DType::f64;
  return reduce(ReduceOp::sum_abs2, x.astype(wide)).item().as<double>();
}

double squares_of_stored(const AnyMatrix& m, Device where) {
  switch (m.form()) {
    case Form::identity: return static_cast<double>(std::min(m.rows(), m.cols()));
    case Form::bit:
    case Form::triangular_bit: return count_of_bits(m, where).as<double>();
    case Form::antisymmetric: return 2 * squares(m.data(where));
    case Form::symmetric: {
      const Strips strips = m.payload().strips();
      const Array data = m.data(where);
      double diagonal = 0;
      for (const Strip& s : strips.list()) diagonal += squares(diagonal_view(strips.part(data, s)));
      const double both = 2 * squares(data) - diagonal;
      return std::isfinite(both) ? both : squares(strips.unpack(data, Below::same));
    }
    default: return squares(m.data(where));
  }
}

template <class Known, class Compute>
auto kept(AnyMatrix& m, Known Derived::*member, Compute compute) {
  if (m.payload().shared) return compute(static_cast<const AnyMatrix&>(m));
  if (const Known known = m.properties().derived().*member) return *known;
  const auto found = compute(static_cast<const AnyMatrix&>(m));
  m.properties().keep(member, found);
  return found;
}

}  // namespace

Value sum(const AnyMatrix& m) {
  if (const auto known = m.properties().derived().sum) return *known;
  Value out;
  placed(problem_of_all(m), {&m}, 8, [&](Device where) {
    tag(where, "sum", TagDetail::plain, m.dtype());
    const AnyMatrix x = summed_as(m);
    const Value v = sum_of_stored(x, where);
    out = scaled_value(x.conjugated() ? conjugate(v) : v, x.scale());
  });
  return value_in(out, m.dtype());
}

Array sum(const AnyMatrix& m, i64 axis) {
  const i64 along = normalize_axis(axis, 2, "sum");
  const DType t = m.dtype();
  Array out;
  placed(problem_of_all(m), {&m}, (along == 0 ? m.cols() : m.rows()) * 8, [&](Device where) {
    tag(where, "sum", TagDetail::plain, t);
    if (has_words(m) && t == DType::b1) {
      const Bits bits = (along == 1 ? m : m.transpose()).words(where);
      out = bit_dense(bits, ones({bits.columns}, DType::i64, where));
      return;
    }
    const Array x = m.array({}, where);
    if (is_inexact(t)) {
      out = reduce(ReduceOp::sum, is_half(t) ? x.astype(DType::f32) : x, Axes{along}).astype(t);
      return;
    }
    const DType wide = is_unsigned_int(t) ? DType::u64 : DType::i64;
    const Array one = ones({x.shape(along)}, wide, where), y = x.astype(wide);
    out = along == 1 ? checked_matmul(y, one.expand_dims(1), wide).squeeze(1)
                     : checked_matmul(one.expand_dims(0), y, wide).squeeze(0);
  });
  return out;
}

Value trace(const AnyMatrix& m) {
  require_square(m);
  if (const auto known = m.properties().derived().trace) return *known;
  Value out;
  const i64 n = m.rows();
  placed_unread({Operation::reduce, DType::f64, n}, {&m}, 8, [&](Device where) {
    tag(where, "trace", TagDetail::plain, m.dtype());
    out = m.form() == Form::identity ? scaled_value(Value(m.rows()), m.scale())
                                     : total(diagonal_of(m, m.dtype(), where));
  });
  return value_in(out, m.dtype());
}

double frobenius_norm(const AnyMatrix& m) {
  if (const auto known = m.properties().derived().norm) return *known;
  if (m.is(Property::is_unit_norm)) return 1;
  double out = 0;
  placed(problem_of_all(m), {&m}, 8, [&](Device where) {
    tag(where, "frobenius_norm", TagDetail::plain, m.dtype());
    const c128 scale = factor_of(m.scale());
    out = std::hypot(scale.re, scale.im) * std::sqrt(squares_of_stored(m, where));
  });
  return out;
}

Value sum(AnyMatrix& m) {
  return kept(m, &Derived::sum, [](const AnyMatrix& x) { return sum(x); });
}
Value trace(AnyMatrix& m) {
  require_square(m);
  return kept(m, &Derived::trace, [](const AnyMatrix& x) { return trace(x); });
}
double frobenius_norm(AnyMatrix& m) {
  return kept(m, &Derived::norm, [](const AnyMatrix& x) { return frobenius_norm(x); });
}

Value dot(const Array& x, const Array& y) {
  require<ShapeError>(x.ndim() == 1 && y.ndim() == 1 && x.shape() == y.shape(),
                      "dot: arrays of shapes ", x.shape(), " and ", y.shape(),
                      "; expected two vectors of one length");
  const Array* both[] = {&x, &y};
  const Device where = common_device("dot", both);
  const TagScope scope;
  const Array row = x.expand_dims(0);
  if (x.dtype() == DType::b1 && y.dtype() == DType::b1) {
    const i64 count = bit_dot(bit_pack(row), bit_pack(y.expand_dims(0)));
    tag_kernel(name(where.kind), "dot", "bitbit_popcount");
    return Value(count);
  }
  const Resolved r = resolve(MatrixOp::matvec, x.dtype(), y.dtype());
  say_precision(MatrixOp::matvec, x.dtype(), y.dtype(), r);
  tag(where, "dot", TagDetail::plain, r.dtype);
  if (!is_inexact(r.dtype)) return checked_matmul(row, y.expand_dims(1), r.dtype).item();
  return matmul(x.astype(r.dtype), y.astype(r.dtype)).item();
}

Value dot(const AnyMatrix& x, const AnyMatrix& y) {
  for (const AnyMatrix* m : {&x, &y})
    require<ShapeError>(m->rows() == 1 || m->cols() == 1, "dot: ", described(x), " and ",
                        described(y), "; expected matrices of one row or one column");
  const i64 n = x.rows() * x.cols();
  require<ShapeError>(n == y.rows() * y.cols(), "dot: ", described(x), " and ", described(y),
                      "; expected as many elements in both");
  Value out;
  placed({Operation::reduce, DType::f64, n}, {&x, &y}, 8, [&](Device where) {
    const auto as_row = [](const AnyMatrix& m) { return m.rows() == 1 ? m : m.transpose(); };
    if (x.form() == Form::bit && y.form() == Form::bit && x.dtype() == DType::b1 &&
        y.dtype() == DType::b1) {
      out = Value(bit_dot(as_row(x).words(where), as_row(y).words(where)));
      tag_kernel(name(where.kind), "dot", "bitbit_popcount");
    } else {
      out = dot(x.array({}, where).reshape({n}), y.array({}, where).reshape({n}));
    }
  });
  return out;
}

Array cross(const Array& x, const Array& y) {
  const Shape three{3};
  require<ShapeError>(x.shape() == three && y.shape() == three, "cross: arrays of shapes ",
                      x.shape(), " and ", y.shape(), "; expected two vectors of 3 elements");
  const Array* both[] = {&x, &y};
  const Device where = common_device("cross", both);
  const TagScope scope;
  const Resolved r = resolve(MatrixOp::subtract, x.dtype(), y.dtype());
  say_precision(MatrixOp::subtract, x.dtype(), y.dtype(), r);
  tag(where, "cross", TagDetail::plain, r.dtype);
  const auto turned = [&](const Array& v, i64 by) { return roll(v.astype(r.dtype), {by}, {0}); };
  const Array x1 = turned(x, -1), x2 = turned(x, -2), y1 = turned(y, -1), y2 = turned(y, -2);
  if (is_inexact(r.dtype)) return ops::subtract(ops::multiply(x1, y2), ops::multiply(x2, y1));
  return checked_elementwise(MatrixOp::subtract,
                             checked_elementwise(MatrixOp::multiply, x1, y2, r.dtype),
                             checked_elementwise(MatrixOp::multiply, x2, y1, r.dtype), r.dtype);
}

}  // namespace tessera
