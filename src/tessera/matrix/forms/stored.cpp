// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/stored.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "tessera/base/tags.hpp"
#include "tessera/base/warn.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

// Stored numbers as elements: conjugated and scaled.
Array viewed(const AnyMatrix& m, const Array& data) {
  return times_checked(m.conjugated() ? ops::conj(data) : data, m.scale());
}

Array diagonal_of_strips(const AnyMatrix& m, Device where) {
  const Payload& p = m.payload();
  const Array data = m.data(where), out = zeros({p.rows}, p.dtype, where);
  if (p.strict || p.form == Form::antisymmetric) return out;
  const Strips strips = p.strips();
  for (const Strip& s : strips.list())
    out.slice(0, s.begin, s.end).copy_from(diagonal_view(strips.part(data, s)));
  return out;
}

// Of words: 64 rows have their diagonal in one column of words.
Array diagonal_of_words(const Array& words, i64 length) {
  const Array out = zeros({length}, DType::b1, words.device());
  for (i64 begin = 0; begin < length; begin += 64) {
    const i64 end = std::min(length, begin + 64);
    const Array bit = arange(Value(0), Value(end - begin), Value(1), DType::u64, words.device());
    const Array shifted = ops::right_shift(words.slice(0, begin, end).select(1, begin / 64), bit);
    out.slice(0, begin, end)
        .copy_from(ops::bitwise_and(shifted, Value(std::uint64_t{1})).astype(DType::b1));
  }
  return out;
}

using Details = std::array<std::array<std::string, dtype_count>, tag_detail_count>;

// In the order of TagDetail: what stands before and after the short name of the dtype.
Details all_details() {
  struct Around {
    std::string_view before, after;
  };
  constexpr std::array<Around, tag_detail_count> around{{{"", ""},
                                                         {"bit_x_", ""},
                                                         {"", "_x_bit"},
                                                         {"tri_", ""},
                                                         {"diag_", ""},
                                                         {"diag_x_dense_", ""},
                                                         {"dense_x_diag_", ""},
                                                         {"sym_", ""},
                                                         {"antisym_", ""},
                                                         {"identity_", ""}}};
  Details all;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t t = 0; t < dtype_count; ++t)
      all[i][t] = cat(around[i].before, tag_word(static_cast<DType>(t)), around[i].after);
  return all;
}

}  // namespace

void subtract_product(const Array& a, const Array& b, const Array& rows) {
  MatmulSpec spec;
  spec.a = operand_of(a);
  spec.b = operand_of(b);
  spec.out = operand_of(rows);
  spec.alpha = c128(-1, 0);
  spec.beta = c128(1, 0);
  launch_now(&KernelTable::matmul, "matmul", spec, rows.device(), {&a, &b, &rows});
}

Value times(const Value& a, const Value& b) {
  const std::optional<Value> product = product_of(a, b);
  require<OverflowError>(product.has_value(), "a matrix times ", a.str(), " and one times ",
                         b.str(), ": the product of the factors does not fit 64 bits");
  return *product;
}

Array stored(const AnyMatrix& m, DType dtype, Device where) {
  return viewed(m, m.data(where)).astype(dtype).contiguous();
}

Array diagonal_view(const Array& a) {
  const Layout& l = a.layout();
  return a.view({{std::min(l.shape[0], l.shape[1])}, {l.strides[0] + l.strides[1]}, l.offset});
}

Array diagonal_of(const AnyMatrix& m, DType dtype, Device where) {
  const i64 length = std::min(m.rows(), m.cols());
  if (m.properties().is(Property::is_zero)) return zeros({length}, dtype, where);
  if (m.properties().is(Property::is_identity)) return ones({length}, dtype, where);
  switch (m.form()) {
    case Form::diagonal: return stored(m, dtype, where);
    case Form::identity: return viewed(m, ones({length}, m.payload().dtype, where)).astype(dtype);
    case Form::dense: return viewed(m, diagonal_view(m.data(where))).astype(dtype);
    case Form::triangular:
    case Form::symmetric:
    case Form::antisymmetric: return viewed(m, diagonal_of_strips(m, where)).astype(dtype);
    case Form::triangular_bit: return zeros({length}, dtype, where);
    default: return viewed(m, diagonal_of_words(m.data(where), length)).astype(dtype);
  }
}

Bits bits_of(const AnyMatrix& m, Device where) {
  const bool as_stored = has_words(m) && !is_number(m.scale(), 0);
  return as_stored ? m.words(where) : bit_pack(m.array({}, where));
}

AnyMatrix packed_matrix(Form form, i64 n, const Array& data, bool strict, bool lower) {
  const AnyMatrix m(make_payload(form, n, n, data.dtype(), data.contiguous(), strict));
  return lower ? m.transpose() : m;
}

std::string described(const AnyMatrix& m) {
  return cat("a matrix ", name(m.form()), " of shape ", Shape{m.rows(), m.cols()});
}

i64 broadcast_elements(std::string_view who, const AnyMatrix& a, const AnyMatrix& b) {
  const auto fits = [](i64 x, i64 y) { return x == y || x == 1 || y == 1; };
  if (!fits(a.rows(), b.rows()) || !fits(a.cols(), b.cols()))
    throw ShapeError(cat(who, ": ", described(a), " and ", described(b),
                         " do not fit each other; expected equal sizes, or 1 to be repeated"));
  const auto size = [](i64 m, i64 n) { return m == 1 ? n : m; };
  return size(a.rows(), b.rows()) * size(a.cols(), b.cols());
}

void say_precision(MatrixOp op, DType a, DType b, const Resolved& r) {
  // The flag of the result is of real floats alone; what integers and complex numbers lose beside
  // arrays is said as well.
  const auto digits = [](DType t) { return is_inexact(t) ? size_of(real_of(t)) : i64{0}; };
  DType kept = promote(a, b);
  if (op == MatrixOp::divide && !is_inexact(kept)) kept = promote(kept, DType::f32);
  if (digits(r.dtype) >= digits(kept)) return;
  const bool integers = !is_inexact(a) || !is_inexact(b),
             quotient = !is_inexact(a) && !is_inexact(b);
  // Once for each pair of dtypes and what becomes of it; a quotient is another thing to be told.
  const std::string key =
      cat(quotient ? "quotient " : "matrix ", name(a), " ", name(b), " ", name(r.dtype));
  if (was_warned(WarningKind::precision, key)) return;
  const bool no_shorter = !integers && std::min(digits(a), digits(b)) < digits(r.dtype);
  const std::string_view way = quotient   ? "precision_mode('highest') gives float64"
                               : integers ? "convert the floats with astype() to keep all digits"
                                          : "precision_mode('highest') keeps the longer one";
  warn_once(WarningKind::precision, key,
            cat(name(op), ": ", name(a), " with ", name(b), " gives ", name(r.dtype),
                no_shorter ? ", the shortest complex dtype there is" : "",
                integers ? cat(", arrays give ", name(kept)) : "", "; ", way));
}

void tag(Device where, std::string_view what, TagDetail detail, DType dtype) {
  static const Details& details = *new Details(all_details());  // tags outlive statics
  tag_kernel(name(where.kind), what,
             details[static_cast<std::size_t>(detail)][static_cast<std::size_t>(dtype)]);
}

}  // namespace tessera
