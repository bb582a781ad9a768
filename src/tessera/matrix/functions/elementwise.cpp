// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/functions/elementwise.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/checked.hpp"
#include "tessera/matrix/forms/place.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

// What a result is stored as.
struct Target {
  Form form = Form::dense;
  bool lower = false, strict = false;  // strict: zeros on the diagonal
};

bool is_diagonal(const AnyMatrix& m) {
  return m.form() == Form::diagonal || m.form() == Form::identity;
}
bool is_triangle(const AnyMatrix& m) {
  return m.form() == Form::triangular || m.form() == Form::triangular_bit;
}

bool is_upper(const AnyMatrix& m) { return m.form() == Form::triangular && !m.lower(); }

bool same_shape(const AnyMatrix& a, const AnyMatrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols();
}

Target target_of_sum(const AnyMatrix& a, const AnyMatrix& b) {
  if (is_diagonal(a) && is_diagonal(b)) return {Form::diagonal};
  if (is_triangle(a) && is_triangle(b) && a.lower() == b.lower())
    return {Form::triangular, a.lower(), a.payload().strict && b.payload().strict};
  if (is_triangle(a) && is_diagonal(b)) return {Form::triangular, a.lower()};
  if (is_diagonal(a) && is_triangle(b)) return {Form::triangular, b.lower()};
  const bool left = a.form() == Form::symmetric, right = b.form() == Form::symmetric;
  if ((left || is_diagonal(a)) && (right || is_diagonal(b))) return {Form::symmetric};
  if (a.form() == Form::antisymmetric && b.form() == Form::antisymmetric)
    return {Form::antisymmetric, false, true};
  return {};
}

Target target_of_product(const AnyMatrix& a, const AnyMatrix& b, DType dtype) {
  if (dtype == DType::b1) {
    if (a.form() == Form::triangular_bit) return {Form::triangular_bit, a.lower()};
    if (b.form() == Form::triangular_bit) return {Form::triangular_bit, b.lower()};
    return {Form::bit};
  }
  const bool strict = a.payload().strict || b.payload().strict;
  const bool opposite = is_triangle(a) && is_triangle(b) && a.lower() != b.lower();
  if (is_diagonal(a) || is_diagonal(b) || opposite) return {Form::diagonal, false, strict};
  if (is_triangle(a) || is_triangle(b))
    return {Form::triangular, (is_triangle(a) ? a : b).lower(), strict};
  const bool left = a.form() == Form::antisymmetric, right = b.form() == Form::antisymmetric;
  if ((left || a.form() == Form::symmetric) && (right || b.form() == Form::symmetric))
    return left == right ? Target{Form::symmetric} : Target{Form::antisymmetric, false, true};
  return {};
}

// A triangle and its own transpose, of which a sum is symmetric and, where there is no diagonal, a
// difference antisymmetric.
bool are_halves(const AnyMatrix& a, const AnyMatrix& b) {
  return &a.payload() == &b.payload() && is_triangle(a) && a.transposed() != b.transposed() &&
         a.conjugated() == b.conjugated() && a.scale().as<c128>() == b.scale().as<c128>();
}

Target target_of(MatrixOp op, const AnyMatrix& a, const AnyMatrix& b, DType dtype) {
  if (op == MatrixOp::power && dtype == DType::b1) return {Form::bit};
  const bool quotient_or_power = op == MatrixOp::divide || op == MatrixOp::power;
  if (!same_shape(a, b) || quotient_or_power) return {};
  if (op == MatrixOp::add && are_halves(a, b)) return {Form::symmetric};
  const bool has_negatives = is_signed_int(dtype) || is_inexact(dtype);
  if (op == MatrixOp::subtract && a.payload().strict && has_negatives && are_halves(a, b))
    return {Form::antisymmetric, false, true};
  return op == MatrixOp::multiply ? target_of_product(a, b, dtype) : target_of_sum(a, b);
}

// Both of the dtype of the call already.
Array applied(const Array& a, const Array& b, const MatrixCall& c) {
  if (c.op == MatrixOp::power && c.dtype == DType::b1) return ops::greater_equal(a, b);
  if (!is_inexact(c.dtype)) return checked_elementwise(c.op, a, b, c.dtype);
  switch (c.op) {
    case MatrixOp::add: return ops::add(a, b);
    case MatrixOp::subtract: return ops::subtract(a, b);
    case MatrixOp::multiply: return ops::multiply(a, b);
    case MatrixOp::divide: return ops::divide(a, b);
    default: return ops::power(a, b);
  }
}

// Zeros in strips, with numbers on the diagonal.
Array diagonal_in_strips(const AnyMatrix& m, const Strips& strips, const MatrixCall& c) {
  const Array d = diagonal_of(m, c.dtype, c.where);
  const Array data = zeros({strips.elements()}, c.dtype, c.where).contiguous();
  for (const Strip& s : strips.list())
    diagonal_view(strips.part(data, s)).copy_from(d.slice(0, s.begin, s.end));
  return data;
}

// The operand in the strips of the target: as it lies where it can, else packed anew. What the
// target has no place for is zero in both operands: infinity times the zero of the other is NaN.
Array in_strips(const AnyMatrix& m, const Target& t, const Strips& strips, const MatrixCall& c) {
  if (is_diagonal(m)) return diagonal_in_strips(m, strips, c);
  const bool fits = m.payload().strict || !t.strict;
  if (fits && t.form == Form::triangular && m.form() == Form::triangular && m.lower() == t.lower)
    return stored(m, c.dtype, c.where);
  if (fits && t.form != Form::triangular && (m.form() == Form::symmetric || is_upper(m)))
    return stored(m, c.dtype, c.where);
  if (t.form != Form::triangular && m.form() == Form::antisymmetric) {
    const Array x = stored(m, c.dtype, c.where);
    return m.transposed() ? ops::negative(x) : x;
  }
  const Array full = m.array(c.dtype, c.where);
  return strips.pack(t.lower ? full.transpose() : full, t.strict);
}

AnyMatrix combined_bits(ElementOp op, const AnyMatrix& a, const AnyMatrix& b, const Target& t,
                        Device where) {
  const auto of = [&](const Array& x, const Array& y) {
    return elementwise(op, std::array<ArrayOrValue, 2>{x, y}).contiguous();
  };
  const bool triangular = t.form == Form::triangular_bit;
  if (triangular && a.form() == b.form() && a.lower() == b.lower()) {
    const Array data = of(a.data(where), b.data(where));
    const AnyMatrix m(make_payload(t.form, a.rows(), a.cols(), DType::b1, data, true));
    return t.lower ? m.transpose() : m;
  }
  const Bits x = bits_of(t.lower ? a.transpose() : a, where),
             y = bits_of(t.lower ? b.transpose() : b, where);
  const Bits both{of(x.words, y.words), x.columns};
  if (!triangular) return AnyMatrix::bits(both);
  const AnyMatrix m = AnyMatrix::triangular_bits(both, /*check=*/false);
  return t.lower ? m.transpose() : m;
}

AnyMatrix combined(const AnyMatrix& a, const AnyMatrix& b, const Target& t, const MatrixCall& c) {
  tag(c, TagDetail::plain);
  switch (t.form) {
    case Form::diagonal:
      if (t.strict) return AnyMatrix::zeros(t.form, a.rows(), a.cols(), c.dtype, c.where);
      return AnyMatrix::diagonal(
          applied(diagonal_of(a, c.dtype, c.where), diagonal_of(b, c.dtype, c.where), c), a.rows(),
          a.cols());
    case Form::triangular:
    case Form::symmetric:
    case Form::antisymmetric: {
      const Strips strips(a.rows(), false);
      Array data = applied(in_strips(a, t, strips, c), in_strips(b, t, strips, c), c);
      if (t.form == Form::antisymmetric)  // the other half has to fit as well
        data = times_checked(data, Value(1), /*both_signs=*/true);
      return packed_matrix(t.form, a.rows(), data, t.strict, t.lower);
    }
    case Form::bit:
    case Form::triangular_bit:
      if (c.op == MatrixOp::power)
        return AnyMatrix::bit(applied(a.array({}, c.where), b.array({}, c.where), c));
      return combined_bits(ElementOp::bitwise_and, a, b, t, c.where);
    default: {
      const Array full = applied(a.array(c.dtype, c.where), b.array(c.dtype, c.where), c);
      // The diagonal of an antisymmetric matrix is zero whatever it meets.
      const bool hollow = c.op == MatrixOp::multiply && same_shape(a, b) &&
                          (a.form() == Form::antisymmetric || b.form() == Form::antisymmetric);
      if (hollow) diagonal_view(full).fill(Value(0));
      return AnyMatrix::dense(full);
    }
  }
}

AnyMatrix combine(MatrixOp op, const AnyMatrix& a, const AnyMatrix& b) {
  const i64 elements = broadcast_elements(name(op), a, b);
  const DType x = a.dtype(), y = b.dtype();
  const Resolved r = resolve(op, x, y);
  say_precision(op, x, y, r);
  const Target target = target_of(op, a, b, r.dtype);
  std::optional<AnyMatrix> out;
  placed({Operation::elementwise, r.dtype, elements}, {&a, &b}, elements * size_of(r.dtype),
         [&](Device where) {
           out = combined(a, b, target, {op, r.dtype, where});
         });
  return *std::move(out);
}

// --- with numbers

// As NumPy; bits are counted in int32, and quotients by a number are float64.
DType dtype_with(MatrixOp op, const AnyMatrix& a, const Value& v) {
  const DType t = a.dtype();
  if (op == MatrixOp::divide && v.is_integer()) return scaled_dtype(t, Value(1.0));
  return t == DType::b1 && v.is_integer() ? DType::i32 : scaled_dtype(t, v);
}

// v op a, or a op v: dense, by a number spread over the matrix.
AnyMatrix with_number(MatrixOp op, const AnyMatrix& a, const Value& v, bool number_first) {
  const DType dtype = dtype_with(op, a, v);
  if (is_integer(dtype)) require_fits(v, dtype);
  std::optional<AnyMatrix> out;
  const i64 elements = a.rows() * a.cols();
  placed({Operation::elementwise, dtype, elements}, {&a}, elements * size_of(dtype),
         [&](Device where) {
           const MatrixCall c{op, dtype, where};
           tag(c, TagDetail::plain);
           const Array x = a.array(dtype, where), y = full({1, 1}, v, dtype, where);
           out = AnyMatrix::dense(number_first ? applied(y, x, c) : applied(x, y, c));
         });
  return *std::move(out);
}

// Elements where they lie, divided by a number that is not zero.
AnyMatrix divided(const AnyMatrix& a, const Value& v, const MatrixCall& c) {
  tag(c, TagDetail::plain);
  const Array by = full({1}, v, c.dtype, c.where);
  if (is_diagonal(a))
    return AnyMatrix::diagonal(ops::divide(diagonal_of(a, c.dtype, c.where), by), a.rows(),
                               a.cols());
  const bool anti = a.form() == Form::antisymmetric;
  const Array data = ops::divide(stored(a, c.dtype, c.where), by);
  return packed_matrix(a.form(), a.rows(), anti && a.transposed() ? ops::negative(data) : data,
                       a.payload().strict, a.lower());
}

}  // namespace

AnyMatrix add(const AnyMatrix& a, const AnyMatrix& b) { return combine(MatrixOp::add, a, b); }
AnyMatrix subtract(const AnyMatrix& a, const AnyMatrix& b) {
  return combine(MatrixOp::subtract, a, b);
}
AnyMatrix multiply(const AnyMatrix& a, const AnyMatrix& b) {
  return combine(MatrixOp::multiply, a, b);
}
AnyMatrix divide(const AnyMatrix& a, const AnyMatrix& b) { return combine(MatrixOp::divide, a, b); }
AnyMatrix power(const AnyMatrix& a, const AnyMatrix& b) { return combine(MatrixOp::power, a, b); }

AnyMatrix logical(ElementOp op, const AnyMatrix& a, const AnyMatrix& b) {
  const i64 elements = broadcast_elements(name(op), a, b);
  require<DTypeError>(a.dtype() == DType::b1 && b.dtype() == DType::b1, name(op), ": ",
                      described(a), " of ", name(a.dtype()), " and ", described(b), " of ",
                      name(b.dtype()), "; expected matrices of bits or of bool");
  Target target{Form::bit};
  if (same_shape(a, b) && op == ElementOp::bitwise_and)
    target = target_of_product(a, b, DType::b1);
  else if (a.form() == Form::triangular_bit && b.form() == a.form() && a.lower() == b.lower())
    target = {Form::triangular_bit, a.lower()};
  std::optional<AnyMatrix> out;
  placed({Operation::elementwise, DType::b1, elements / 8}, {&a, &b}, elements / 8,
         [&](Device where) {
           tag(where, name(op), TagDetail::plain, DType::b1);
           if (same_shape(a, b)) {
             out = combined_bits(op, a, b, target, where);
             return;
           }
           const Array x = a.array({}, where), y = b.array({}, where);
           out = AnyMatrix::bit(elementwise(op, std::array<ArrayOrValue, 2>{x, y}));
         });
  return *std::move(out);
}

AnyMatrix add(const AnyMatrix& a, const Value& v) {
  return with_number(MatrixOp::add, a, v, false);
}
AnyMatrix subtract(const AnyMatrix& a, const Value& v) {
  return with_number(MatrixOp::subtract, a, v, false);
}
AnyMatrix subtract(const Value& v, const AnyMatrix& a) {
  return with_number(MatrixOp::subtract, a, v, true);
}
AnyMatrix divide(const Value& v, const AnyMatrix& a) {
  return with_number(MatrixOp::divide, a, v, true);
}
AnyMatrix power(const Value& v, const AnyMatrix& a) {
  return with_number(MatrixOp::power, a, v, true);
}

AnyMatrix divide(const AnyMatrix& a, const Value& v) {
  const bool packed = is_diagonal(a) || is_strips(a.form());
  if (!packed || is_number(v, 0) || !is_finite(v))
    return with_number(MatrixOp::divide, a, v, false);
  const DType dtype = dtype_with(MatrixOp::divide, a, v);
  std::optional<AnyMatrix> out;
  placed({Operation::elementwise, dtype, a.rows() * a.cols()}, {&a}, a.bytes(), [&](Device where) {
    out = divided(a, v, {MatrixOp::divide, dtype, where});
  });
  return *std::move(out);
}

}  // namespace tessera
