// SPDX-License-Identifier: Apache-2.0
// How matrices come into being.
#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"
#include "tessera/matrix/forms/counting.hpp"

namespace tessera {
namespace {

void require_matrix(Form form, const Array& a) {
  require<ShapeError>(a.ndim() == 2, name(form), ": expected an array of two axes, got shape ",
                      a.shape());
}

void require_square(Form form, i64 rows, i64 cols) {
  require<ShapeError>(rows == cols, name(form), ": a matrix of shape (", rows, ", ", cols,
                      ") is not square");
}

void require_dtype(Form form, DType dtype) {
  if (form == Form::bit || form == Form::triangular_bit)
    require<DTypeError>(dtype == DType::b1, name(form), ": elements are bits (bool), not ",
                        name(dtype));
  if (form == Form::antisymmetric)
    require<DTypeError>(is_signed_int(dtype) || is_inexact(dtype), name(form), ": ", name(dtype),
                        " has no negative numbers");
}

// What is stored of a matrix: its shape and dtype.
std::pair<Shape, DType> stored_as(Form form, i64 rows, i64 cols, DType dtype) {
  require<ShapeError>(rows >= 0 && cols >= 0, name(form), ": a matrix of shape (", rows, ", ", cols,
                      ")");
  require_dtype(form, dtype);
  switch (form) {
    case Form::dense: return {{rows, cols}, dtype};
    case Form::bit: return {{rows, bit_words(cols)}, DType::u64};
    case Form::diagonal: return {{std::min(rows, cols)}, dtype};
    case Form::identity: return {{0}, dtype};
    default: break;
  }
  require_square(form, rows, cols);
  const bool bits = form == Form::triangular_bit;
  return {{Strips(rows, bits).elements()}, bits ? DType::u64 : dtype};
}

// The upper half of a full array, packed.
AnyMatrix packed(Form form, const Array& a, bool strict) {
  require_matrix(form, a);
  require_square(form, a.shape(0), a.shape(1));
  require_dtype(form, a.dtype());
  const i64 n = a.shape(0);
  return make_payload(form, n, n, a.dtype(), Strips(n, false).pack(a, strict), strict);
}

}  // namespace

std::string_view name(Form form) {
  constexpr std::string_view names[] = {"Dense",     "Bit",           "TriangularBit", "Triangular",
                                        "Symmetric", "AntiSymmetric", "Diagonal",      "Identity"};
  return names[static_cast<int>(form)];
}

Form parse_form(std::string_view text) {
  std::string known;
  for (int i = 0; i < form_count; ++i) {
    const auto form = static_cast<Form>(i);
    if (name(form) == text) return form;
    known += cat(i > 0 ? ", " : "", name(form));
  }
  throw ArgumentError(cat("no form of a matrix is called \"", text, "\"; there are ", known));
}

std::shared_ptr<Payload> make_payload(Form form, i64 rows, i64 cols, DType dtype, Array data,
                                      bool strict) {
  auto p = std::make_shared<Payload>();
  p->form = form;
  p->rows = rows;
  p->cols = cols;
  p->dtype = dtype;
  p->strict = strict || form == Form::triangular_bit || form == Form::antisymmetric;
  p->data = std::move(data);
  return p;
}

Strips Payload::strips() const { return Strips(rows, form == Form::triangular_bit); }

AnyMatrix::AnyMatrix(std::shared_ptr<Payload> payload)
    : payload_(std::move(payload)), properties_(payload_->rows, payload_->cols) {
  if (form() == Form::identity) properties_.keep(&Derived::diagonal_value, Value(1));
}

AnyMatrix AnyMatrix::dense(Array a) {
  require_matrix(Form::dense, a);
  const i64 rows = a.shape(0), cols = a.shape(1);
  const DType dtype = a.dtype();
  return make_payload(Form::dense, rows, cols, dtype, std::move(a));
}

AnyMatrix AnyMatrix::bit(const Array& a) {
  require_matrix(Form::bit, a);
  return bits(bit_pack(a));
}

AnyMatrix AnyMatrix::bits(Bits a) {
  require_matrix(Form::bit, a.words);
  require<DTypeError>(a.words.dtype() == DType::u64, "Bit: words are uint64, not ",
                      name(a.words.dtype()));
  require<ShapeError>(a.columns >= 0 && a.words.shape(1) == bit_words(a.columns), "Bit: rows of ",
                      a.words.shape(1), " words; ", a.columns, " columns take ",
                      bit_words(std::max<i64>(0, a.columns)));
  const i64 rows = a.rows(), cols = a.columns;
  return make_payload(Form::bit, rows, cols, DType::b1, std::move(a.words));
}

AnyMatrix AnyMatrix::triangular_bit(const Array& a, bool check) {
  require_matrix(Form::triangular_bit, a);
  require_square(Form::triangular_bit, a.shape(0), a.shape(1));
  return triangular_bits(bit_pack(a), check);
}

AnyMatrix AnyMatrix::triangular_bits(const Bits& a, bool check) {
  require_matrix(Form::triangular_bit, a.words);
  require_square(Form::triangular_bit, a.rows(), a.columns);
  const i64 n = a.columns;
  const Strips strips(n, true);
  const Array data = strips.pack(a.words, true);
  require<ArgumentError>(!check || n == 0 || all_of(ops::equal(a.words, strips.unpack(data))),
                         "TriangularBit: there are ones on or below the diagonal; expected a "
                         "strictly upper triangular matrix");
  return make_payload(Form::triangular_bit, n, n, DType::b1, data);
}

AnyMatrix AnyMatrix::triangular(const Array& a, bool lower, bool strict, bool check) {
  require_matrix(Form::triangular, a);
  const AnyMatrix upper = packed(Form::triangular, lower ? a.transpose() : a, strict);
  require<ArgumentError>(
      !check || nonzeros(a) == nonzeros(upper.payload().data), "Triangular: there are nonzeros ",
      strict ? "on the diagonal or " : "", lower ? "above it" : "below it", "; expected ",
      strict ? "a strictly " : "", lower ? "lower" : "upper", " triangular matrix");
  return lower ? upper.transpose() : upper;
}

AnyMatrix AnyMatrix::symmetric(const Array& a, bool check) {
  AnyMatrix m = packed(Form::symmetric, a, false);
  require<ArgumentError>(!check || all_of(ops::equal(a, a.transpose())),
                         "Symmetric: the array differs from its transpose");
  return m;
}

AnyMatrix AnyMatrix::antisymmetric(const Array& a, bool check) {
  AnyMatrix m = packed(Form::antisymmetric, a, true);
  require<ArgumentError>(!check || all_of(ops::equal(a, m.array())),
                         "AntiSymmetric: the array differs from its negative transpose");
  return m;
}

AnyMatrix AnyMatrix::diagonal(Array values, i64 rows, i64 cols) {
  require<ShapeError>(values.ndim() == 1, "Diagonal: expected a vector of numbers, got shape ",
                      values.shape());
  if (rows < 0) rows = values.size();
  if (cols < 0) cols = rows;
  require<ShapeError>(values.size() == std::min(rows, cols), "Diagonal: ", values.size(),
                      " numbers for a matrix of shape (", rows, ", ", cols, ")");
  return make_payload(Form::diagonal, rows, cols, values.dtype(), values.copy());
}

AnyMatrix AnyMatrix::diagonal_of(const Array& a, bool check) {
  require_matrix(Form::diagonal, a);
  const Array values = linalg::diagonal(a);
  require<ArgumentError>(!check || nonzeros(a) == nonzeros(values),
                         "Diagonal: there are nonzeros beside the diagonal");
  return diagonal(values, a.shape(0), a.shape(1));
}

AnyMatrix AnyMatrix::identity(i64 rows, i64 cols, DType dtype, Device device) {
  if (cols < 0) cols = rows;
  require<ShapeError>(rows >= 0, "Identity: a matrix of ", rows, " rows");
  return make_payload(Form::identity, rows, cols, dtype, empty_dense({0}, dtype, device));
}

AnyMatrix AnyMatrix::random_bits(Form form, i64 rows, i64 cols, double p, Random& source,
                                 Device device) {
  const bool half = form == Form::triangular_bit;
  require<ArgumentError>(half || form == Form::bit, "random_bits: a matrix ", name(form),
                         "; expected Bit or TriangularBit");
  require<ShapeError>(rows >= 0 && cols >= 0, "random_bits: a matrix of shape (", rows, ", ", cols,
                      ")");
  if (half) require_square(form, rows, cols);
  require<ArgumentError>(p >= 0 && p <= 1, "random_bits: the probability ", p, "; expected 0 to 1");
  constexpr i64 numbers_at_once = 1 << 20;
  const Array words = tessera::zeros({rows, bit_words(cols)}, DType::u64, device).contiguous();
  RandomSpec spec = source.next_uniform(DType::f64);
  const i64 step = std::max<i64>(1, numbers_at_once / std::max<i64>(1, cols));
  for (i64 begin = 0; begin < rows && cols > 0; begin += step) {
    const i64 end = std::min(rows, begin + step);
    const Array x = empty_dense({end - begin, cols}, DType::f64, device);
    spec.first = begin * cols;
    draw_into(x, spec);
    words.slice(0, begin, end).copy_from(bit_pack(ops::less(x, p)).words);
  }
  return half ? triangular_bits({words, cols}, /*check=*/false) : bits({words, cols});
}

AnyMatrix AnyMatrix::zeros(Form form, i64 rows, i64 cols, DType dtype, Device device) {
  const auto [shape, stored] = stored_as(form, rows, cols, dtype);
  if (form == Form::identity) return identity(rows, cols, dtype, device);
  const Array data = empty_dense(shape, stored, device);
  data.fill(Value(false));
  return make_payload(form, rows, cols, dtype, data);
}

AnyMatrix AnyMatrix::of_stored(Form form, i64 rows, i64 cols, DType dtype, const Array& data,
                               bool strict) {
  const auto [shape, stored] = stored_as(form, rows, cols, dtype);
  require<ShapeError>(data.shape() == shape, name(form), ": stored elements of shape ",
                      data.shape(), "; a matrix of shape (", rows, ", ", cols, ") has ", shape);
  require<DTypeError>(data.dtype() == stored, name(form), ": stored elements of ",
                      name(data.dtype()), "; a matrix of ", name(dtype), " has ", name(stored));
  return make_payload(form, rows, cols, dtype, data.contiguous(), strict);
}

}  // namespace tessera
