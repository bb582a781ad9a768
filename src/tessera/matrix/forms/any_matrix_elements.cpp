// SPDX-License-Identifier: Apache-2.0
// Elements of matrices: all of them, one of them, a few as text.
#include <algorithm>

#include "tessera/array/print.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

bool is_bits(Form form) { return form == Form::bit || form == Form::triangular_bit; }

// Whether element (i, j) of a matrix before views has a place in memory.
bool is_stored(const Payload& p, i64 i, i64 j) {
  switch (p.form) {
    case Form::dense:
    case Form::bit:
    case Form::symmetric: return true;
    case Form::triangular_bit:
    case Form::triangular: return p.strict ? i < j : i <= j;
    case Form::antisymmetric: return i != j;
    case Form::diagonal: return i == j;
    default: return false;
  }
}

// Its place, of rank 0; of bits: the word.
Array slot(const Payload& p, i64 i, i64 j) {
  switch (p.form) {
    case Form::dense: return p.data.select(0, i).select(0, j);
    case Form::bit: return p.data.select(0, i).select(0, j / 64);
    case Form::diagonal: return p.data.select(0, i);
    default: return p.data.select(0, p.strips().place(std::min(i, j), std::max(i, j)));
  }
}

void write_bit(const Array& word, i64 bit, bool v) {
  const std::uint64_t mask = std::uint64_t{1} << bit;
  const ArrayOrValue other = Value(v ? mask : ~mask);
  elementwise(v ? ElementOp::bitwise_or : ElementOp::bitwise_and,
              std::array<ArrayOrValue, 2>{word, other}, word);
}

void require_inside(const AnyMatrix& m, i64 i, i64 j) {
  require<IndexError>(i >= 0 && i < m.rows() && j >= 0 && j < m.cols(), "index (", i, ", ", j,
                      ") is out of bounds for a matrix of shape (", m.rows(), ", ", m.cols(), ")");
}

std::string_view rule_of(Form form, bool strict, bool transposed) {
  switch (form) {
    case Form::triangular_bit:
    case Form::triangular:
      if (strict) return transposed ? "Strictly lower triangular" : "Strictly upper triangular";
      return transposed ? "Lower triangular" : "Upper triangular";
    case Form::antisymmetric: return "The diagonal is zero";
    case Form::diagonal: return "Only the diagonal is stored";
    default: return "All elements are fixed";
  }
}

void require_kind(Form form, const Value& v, DType dtype) {
  const bool fits = dtype == DType::b1  ? v.is_integer() && (is_number(v, 0) || is_number(v, 1))
                    : is_integer(dtype) ? v.is_integer()
                    : is_complex(dtype) ? true
                                        : v.kind() != Value::Kind::complex;
  require<DTypeError>(fits, name(form), ": ", v.str(), " is not an element of a matrix of ",
                      dtype == DType::b1 ? "bits" : name(dtype));
  if (is_integer(dtype)) require_fits(v, dtype);
}

// (rows, cols) of numbers on a diagonal.
Array spread(const Array& values, i64 rows, i64 cols) {
  const Array full = empty_dense({rows, cols}, values.dtype(), values.device());
  full.fill(Value(false));
  linalg::diagonal(full).copy_from(values);
  return full;
}

}  // namespace

Array AnyMatrix::viewed(const Array& x) const {
  const Array y = conjugated_ ? ops::conj(x) : x;
  const bool both_signs = form() == Form::antisymmetric;
  if (is_integer_one(scale_) && !both_signs) return y;
  const Array z = times_checked(y, scale_, both_signs);
  if (!is_finite_in(scale_, z.dtype()) &&
      is_strips(form()))  // 0 times infinity, where there are no elements
    payload_->strips().clear_corners(z, payload_->strict);
  return z;
}

Array AnyMatrix::array(std::optional<DType> dtype, std::optional<Device> where) const {
  const TagScope looking;  // leaves the tag of what was computed
  const Payload& p = *payload_;
  const Device there = where.value_or(device());
  Array full;
  switch (p.form) {
    case Form::dense: full = viewed(data(there)); break;
    case Form::bit:
    case Form::triangular_bit: {
      if (is_integer_one(scale_)) return bit_unpack(words(there), dtype.value_or(DType::b1));
      if (p.form == Form::triangular_bit) return numbers().array(dtype, where);
      full = viewed(bit_unpack({data(there), p.cols}));
      break;
    }
    case Form::triangular:
    case Form::symmetric:
    case Form::antisymmetric: {
      const Below below = p.form == Form::triangular  ? Below::zero
                          : p.form == Form::symmetric ? Below::same
                                                      : Below::negative;
      full = p.strips().unpack(viewed(data(there)).contiguous(), below);
      break;
    }
    case Form::diagonal: full = spread(viewed(data(there)), p.rows, p.cols); break;
    case Form::identity: {
      const i64 length = std::min(p.rows, p.cols);
      const Array values = viewed(ones({std::min<i64>(length, 1)}, p.dtype, there));
      full = spread(values.broadcast_to({length}), p.rows, p.cols);
    }
  }
  if (transposed_) full = full.transpose();
  return dtype ? cast_checked(full, *dtype) : full;
}

Value AnyMatrix::at(i64 i, i64 j) const {
  require_inside(*this, i, j);
  const TagScope looking;
  if (transposed_) std::swap(i, j);
  const Payload& p = *payload_;
  Array e;
  if (is_stored(p, i, j)) {
    e = slot(p, i, j);
    if (is_bits(p.form))
      e = Array::scalar(Value((e.item().as<std::uint64_t>() >> (j % 64) & 1) != 0), DType::b1);
  } else if (p.form == Form::identity && i == j) {
    e = Array::scalar(Value(1), p.dtype);
  } else {
    return Array::scalar(Value(0), dtype()).item();
  }
  e = viewed(e);
  return (p.form == Form::antisymmetric && i > j ? ops::negative(e) : e).item();
}

void AnyMatrix::set(i64 i, i64 j, const Value& v) {
  require_inside(*this, i, j);
  require<ArgumentError>(!is_bits(form()) || dtype() == DType::b1, name(form()),
                         ": elements of bits times ", scale_.str(),
                         " cannot be set; make numbers of them with copy()");
  require_kind(form(), v, dtype());
  if (!is_stored(*payload_, transposed_ ? j : i, transposed_ ? i : j)) {
    require<ArgumentError>(is_number(v, 0) && !(form() == Form::identity && i == j), name(form()),
                           ": element (", i, ", ", j, ") cannot be ", v.str(), ". ",
                           rule_of(form(), payload_->strict, transposed_));
    return;
  }
  const bool anti = form() == Form::antisymmetric;
  const std::optional<Value> negative = product_of(Value(-1), v);
  if (anti && is_integer(dtype())) require_fits(*negative, dtype());
  Payload& p = own();
  const i64 row = transposed_ ? j : i, col = transposed_ ? i : j;
  const Array place = slot(p, row, col);
  if (is_bits(p.form))
    write_bit(place, col % 64, is_number(v, 1));
  else
    place.fill(anti && row > col ? *negative : v);
  properties_.element_set(i, j, v);
  if (i != j && (anti || form() == Form::symmetric))
    properties_.element_set(j, i, anti ? *negative : v);
}

void AnyMatrix::set_identity() {
  const bool hollow = form() == Form::triangular_bit || form() == Form::antisymmetric ||
                      (form() == Form::triangular && payload_->strict);
  require<ArgumentError>(!hollow || rows() == 0, "set_identity: ", name(form()),
                         " has no diagonal. ", rule_of(form(), true, transposed_));
  require<ArgumentError>(!is_bits(form()) || dtype() == DType::b1, "set_identity: elements of ",
                         "bits times ", scale_.str(), " cannot be set");
  if (form() == Form::identity) {
    scale_ = Value(1);
  } else {
    Payload& p = own();
    const Array one = eye(p.rows, p.cols, 0, p.dtype, p.data.device());
    if (is_bits(p.form))
      p.data.copy_from(bit_pack(one).words);
    else if (is_strips(p.form))
      p.data.copy_from(p.strips().pack(one, false));
    else if (p.form == Form::diagonal)
      p.data.fill(Value(1));
    else
      p.data.copy_from(one);
  }
  properties_ = Properties(rows(), cols());
  properties_.declare(Property::is_identity, true);
  properties_.keep(&Derived::diagonal_value, Value(1));
}

std::string AnyMatrix::str() const {
  const Payload& p = *payload_;
  std::string text = cat(name(p.form), " (", rows(), ", ", cols(), ") ", name(dtype()), " on ",
                         device(), ", ", bytes(), " bytes");
  const bool half = p.form == Form::triangular || p.form == Form::triangular_bit;
  if (half) text += cat(", ", p.strict ? "strictly " : "", lower() ? "lower" : "upper");
  if (transposed_ && !half) text += ", transposed";
  if (conjugated_) text += ", conjugated";
  if (!is_integer_one(scale_)) text += cat(", times ", scale_.str());
  text += "\n";
  const Shape whole{rows(), cols()}, shape = printed_shape(whole);
  if (shape == whole) return text + to_text(array({}, device()).to(cpu));
  const Array shown = empty_dense(shape, dtype());
  const auto shown_at = [&](i64 axis, i64 k) {
    const i64 left = whole[axis] - shape[axis];
    return left > 0 && k >= print_edge ? k + left : k;
  };
  for (i64 i = 0; i < shape[0]; ++i)
    for (i64 j = 0; j < shape[1]; ++j)
      shown.select(0, i).select(0, j).fill(at(shown_at(0, i), shown_at(1, j)));
  return text + to_text(shown, whole);
}

}  // namespace tessera
