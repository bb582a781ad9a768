// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_source.hpp"

#include <algorithm>

#include "tessera/base/hash.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/slices.hpp"

namespace tessera::streaming {
namespace {

using Kind = BlockPlace::Kind;

// Rows and columns of the upper half of a matrix in strips, zeros below its diagonal.
void copy_from_strips(const Strips& strips, const Array& data, i64 in_word, const Box& box,
                      const Array& into) {
  into.fill(Value(0));
  const i64 top = box.begin[0], bottom = top + box.shape[0], left = box.begin[1],
            right = left + box.shape[1];
  for (const Strip& s : strips.list()) {
    const i64 begin = std::max(s.begin, top), end = std::min(s.end, bottom);
    const i64 first = s.begin / in_word, from = std::max(first, left);
    if (begin >= end || from >= right) continue;
    const Array rows = strips.part(data, s).slice(0, begin - s.begin, end - s.begin);
    into.slice(0, begin - top, end - top)
        .slice(1, from - left, right - left)
        .copy_from(rows.slice(1, from - first, right - first));
  }
}

// A packed half as a store of the square, which is made as it is asked for.
StorePtr store_of_strips(const AnyMatrix& m) {
  const Payload& p = m.payload();
  const bool bits = p.form == Form::triangular_bit;
  const Array data = m.data(cpu);
  const Strips strips = p.strips();
  const Shape shape{p.rows, bits ? bit_words(p.cols) : p.cols};
  return store::generated_store(cat(name(p.form), " in memory"),
                                store::TileGrid::square(shape, data.dtype()),
                                [data, strips, bits](const Box& box, const Array& into) {
                                  copy_from_strips(strips, data, bits ? 64 : 1, box, into);
                                });
}

AnyMatrix without_scale(const AnyMatrix& m) {
  const bool one = m.scale().as<c128>() == c128{1, 0} && m.dtype() == m.payload().dtype;
  return one || m.form() == Form::identity ? m : m.copy();
}

std::string hash_text(const AnyMatrix& m) {
  const Array data = m.data(cpu).contiguous();
  return cat("a ", name(m.form()), " in memory, hash ",
             hash_bytes(data.host_data(), static_cast<std::size_t>(data.bytes())));
}

Range cut_to(const Range& r, i64 n) { return {std::min(r.begin, n), std::min(r.end, n)}; }

}  // namespace

FormSource FormSource::numbers(Form form, StorePtr store, bool strict) {
  const Shape& shape = store->grid().shape();
  require<ShapeError>(shape.size() == 2, name(form), ": takes matrices, got a store of shape ",
                      shape);
  FormSource m{.form = form,
               .stored_rows = shape[0],
               .stored_cols = shape[1],
               .dtype = store->grid().dtype(),
               .strict = strict || form == Form::antisymmetric,
               .store = std::move(store)};
  require<ShapeError>(!m.is_half() || shape[0] == shape[1], name(form),
                      ": takes a square matrix, got shape ", shape);
  return m;
}

FormSource FormSource::bits(Form form, StorePtr words, i64 columns) {
  const Shape& shape = words->grid().shape();
  require<ShapeError>(
      shape.size() == 2 && shape[1] == bit_words(columns) && words->grid().dtype() == DType::u64,
      name(form), ": ", words->describe(), ": not the words of ", columns, " columns");
  FormSource m{.form = form,
               .stored_rows = shape[0],
               .stored_cols = columns,
               .dtype = DType::b1,
               .strict = form == Form::triangular_bit,
               .store = std::move(words)};
  require<ShapeError>(!m.is_half() || m.stored_rows == columns, name(form),
                      ": takes a square matrix, got shape (", m.stored_rows, ", ", columns, ")");
  return m;
}

FormSource FormSource::memory(const AnyMatrix& given) {
  const AnyMatrix m = without_scale(given);
  const Payload& p = m.payload();
  FormSource out{
      .form = p.form,
      .stored_rows = p.rows,
      .stored_cols = p.cols,
      .dtype = p.dtype,
      .strict = p.strict || p.form == Form::triangular_bit || p.form == Form::antisymmetric,
      .transposed = m.transposed(),
      .conjugated = m.conjugated()};
  if (out.is_diagonal()) {
    // With the numbers that it shows: scales of identities, conjugates.
    if (!(m.scale().as<c128>() == c128{1, 0})) out.form = Form::diagonal;
    out.values = diagonal(m).to(cpu);
    out.dtype = m.dtype();
    out.conjugated = false;
    out.known = hash_text(AnyMatrix::dense(out.values.expand_dims(0)));
    return out;
  }
  out.known = hash_text(m);
  if (out.is_half()) {
    out.store = store_of_strips(m);
    return out;
  }
  const Array data = m.data(cpu);
  const Shape tile{std::max<i64>(1, data.shape(0)), std::max<i64>(1, data.shape(1))};
  out.store = store::memory_store(data, tile);
  return out;
}

FormSource FormSource::transpose() const {
  FormSource m = *this;
  if (form == Form::symmetric) return m;
  m.transposed = !m.transposed;
  return m;
}
FormSource FormSource::conj() const {
  FormSource m = *this;
  if (is_complex(dtype)) m.conjugated = !m.conjugated;
  if (scale.kind() == Value::Kind::complex) {
    const c128 z = scale.as<c128>();
    m.scale = Value(c128(z.re, -z.im));
  }
  return m;
}

bool FormSource::is_scaled() const { return !scale.is_integer() || scale.as<c128>() != c128{1, 0}; }
FormSource FormSource::unscaled() const {
  FormSource m = *this;
  m.scale = Value(1);
  return m;
}
DType FormSource::element_dtype() const { return is_scaled() ? small(1, 1).dtype() : dtype; }

std::optional<FormSource> FormSource::scaled(const Value& by) const {
  const AnyMatrix before = small(2, rows() == cols() ? 2 : 3), after = before.scaled(by);
  if (&before.payload() != &after.payload() || after.scale().as<c128>() == c128{0, 0}) return {};
  FormSource m = *this;
  m.scale = after.scale();
  return m;
}

std::string FormSource::version() const {
  const std::string numbers_are = known.empty() && store ? store->version() : known;
  if (numbers_are.empty()) return {};
  return cat(name(form), strict ? ", strict" : "", transposed ? ", transposed" : "",
             conjugated ? ", conjugated" : "", is_scaled() ? cat(", times ", scale.str()) : "",
             " of ", numbers_are);
}

std::string FormSource::describe() const {
  return cat("a ", name(form), " of shape (", rows(), ", ", cols(), ")");
}

AnyMatrix FormSource::small(i64 rows, i64 cols) const {
  const i64 r = transposed ? cols : rows, c = transposed ? rows : cols;
  AnyMatrix m = AnyMatrix::zeros(form, r, c, dtype);
  if (form == Form::triangular) m = make_payload(form, r, c, dtype, m.payload().data, strict);
  if (conjugated) m = m.conj();
  if (is_scaled()) m = m.scaled(scale);
  return transposed ? m.transpose() : m;
}

BlockPlace place_of(const FormSource& m, const Range& rows, const Range& cols) {
  BlockPlace p{Kind::whole, rows, cols, m.transposed};
  if (m.transposed) std::swap(p.rows, p.cols);
  if (rows.size() == 0 || cols.size() == 0) p.kind = Kind::zero;
  if (p.kind == Kind::zero || (!m.is_half() && !m.is_diagonal())) return p;
  const i64 before = p.rows.begin - p.cols.begin;
  if (m.is_diagonal()) {
    p.kind = before == 0 ? Kind::diagonal : Kind::zero;
  } else if (before == 0) {
    p.kind = Kind::half;
  } else if (before > 0 && m.is_mirrored()) {
    std::swap(p.rows, p.cols);
    p.turned = !p.turned;
    p.negative = m.form == Form::antisymmetric;
  } else if (before > 0) {
    p.kind = Kind::zero;
  }
  return p;
}

Box box_of(const FormSource& m, const BlockPlace& p) {
  if (m.has_words())
    return {{p.rows.begin, p.cols.begin / 64}, {p.rows.size(), bit_words(p.cols.size())}};
  return {{p.rows.begin, p.cols.begin}, {p.rows.size(), p.cols.size()}};
}

Piece piece_of(const FormSource& m, const BlockPlace& p, const Array& numbers) {
  Piece out{.form = m.form,
            .kind = p.kind,
            .strict = m.strict,
            .turned = p.turned,
            .conj = m.conjugated,
            .negative = p.negative,
            .numbers = numbers,
            .columns = p.cols.size(),
            .diagonal_rows = p.rows.size()};
  if (p.kind == Kind::diagonal)
    out.numbers = m.values.slice(0, p.rows.begin, std::min(p.rows.end, p.cols.end));
  if (p.kind == Kind::whole) out.form = m.has_words() ? Form::bit : Form::dense;
  // Below the diagonal bits are zero in every store: a square of them is as good as its half.
  if (p.kind == Kind::half && m.form == Form::triangular_bit) {
    out.kind = Kind::whole;
    out.form = Form::bit;
  }
  return out;
}

i64 Piece::rows() const {
  const i64 stored = kind == Kind::diagonal ? diagonal_rows : numbers.shape(0);
  return turned ? columns : stored;
}
i64 Piece::cols() const {
  const i64 stored = kind == Kind::diagonal ? diagonal_rows : numbers.shape(0);
  return turned ? stored : columns;
}

Piece Piece::part(const Range& rows, const Range& cols) const {
  Piece out = *this;
  Range r = turned ? cols : rows, c = turned ? rows : cols;
  if (kind == Kind::diagonal) {
    const i64 n = numbers.shape(0);
    if (r.begin != c.begin) out.kind = Kind::zero;
    out.numbers = numbers.slice(0, cut_to(r, n).begin, std::min(cut_to(r, n).end, c.end));
    out.diagonal_rows = r.size();
    out.columns = c.size();
    return out;
  }
  if (kind == Kind::half && r.begin != c.begin) {
    out.kind = Kind::whole;
    out.form = Form::dense;
    if (r.begin > c.begin) {
      if (form == Form::triangular) out.kind = Kind::zero;
      out.negative = negative != (form == Form::antisymmetric);
      out.turned = !turned;
      std::swap(r, c);
    }
  }
  out.columns = c.size();
  out.numbers = numbers.slice(0, r.begin, r.end);
  // Columns of bits are cut where rows of words may begin.
  out.numbers = has_words() ? out.numbers.slice(1, c.begin / 64, c.begin / 64 + bit_words(c.size()))
                            : out.numbers.slice(1, c.begin, c.end);
  return out;
}

AnyMatrix Piece::matrix() const {
  const auto stored = [&]() -> AnyMatrix {
    if (kind == Kind::diagonal) return AnyMatrix::diagonal(numbers, diagonal_rows, columns);
    if (form == Form::bit) return AnyMatrix::bits({numbers, columns});
    if (kind == Kind::whole) return AnyMatrix::dense(numbers);
    if (form == Form::triangular) return AnyMatrix::triangular(numbers, false, strict, false);
    return form == Form::symmetric ? AnyMatrix::symmetric(numbers, false)
                                   : AnyMatrix::antisymmetric(numbers, false);
  };
  AnyMatrix m = stored();
  if (conj) m = m.conj();
  if (turned) m = m.transpose();
  return negative ? m.scaled(Value(-1)) : m;
}

}  // namespace tessera::streaming
