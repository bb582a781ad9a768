// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/slices.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/scaling.hpp"

namespace tessera {
namespace {

constexpr i64 few_rows = 64;

// Bit `bit` of each word.
Array bit_of(const Array& words, i64 bit) {
  const Array shifted = ops::right_shift(words, Value(static_cast<std::uint64_t>(bit)));
  return ops::bitwise_and(shifted, Value(std::uint64_t{1})).astype(DType::b1);
}

// Elements (0, i), ..., (i, i) of an upper half: a column of each strip down to row i.
void copy_column(const Payload& p, i64 i, const Array& to) {
  const Strips strips = p.strips();
  const bool bits = p.form == Form::triangular_bit;
  for (const Strip& s : strips.list()) {
    if (s.begin > i) break;
    const i64 end = std::min(s.end, i + 1), at = i - s.begin;
    const Array rows = strips.part(p.data, s).slice(0, 0, end - s.begin);
    to.slice(0, s.begin, end)
        .copy_from(bits ? bit_of(rows.select(1, at / 64), at % 64) : rows.select(1, at));
  }
}

// Elements (i, i), ..., (i, n - 1) of an upper half, and zeros before them in its strip.
void copy_row(const Payload& p, i64 i, const Array& to) {
  const Strips strips = p.strips();
  const i64 n = strips.n();
  const auto holds = [&](const Strip& s) { return i < s.end; };
  const Strip& s = *std::find_if(strips.list().begin(), strips.list().end(), holds);
  const Array row = strips.part(p.data, s).slice(0, i - s.begin, i - s.begin + 1);
  const Array rest = to.slice(0, s.begin, n);
  if (p.form == Form::triangular_bit)
    rest.copy_from(bit_unpack({row, n - s.begin}).select(0, 0));
  else
    rest.copy_from(row.select(0, 0));
}

// A row (or a column) of what is stored, before scales and conjugates.
Array stored_line(const Payload& p, i64 i, bool column) {
  if (p.form == Form::dense) return p.data.select(column ? 1 : 0, i);
  if (p.form == Form::bit)
    return column ? bit_of(p.data.select(1, i / 64), i % 64)
                  : bit_unpack({p.data.slice(0, i, i + 1), p.cols}).select(0, 0);
  const Array line = zeros({column ? p.rows : p.cols}, p.dtype, p.data.device());
  if (p.form == Form::identity || p.form == Form::diagonal) {
    if (i >= std::min(p.rows, p.cols)) return line;
    if (p.form == Form::identity)
      line.select(0, i).fill(Value(1));
    else
      line.select(0, i).copy_from(p.data.select(0, i));
    return line;
  }
  const bool half = p.form == Form::triangular || p.form == Form::triangular_bit;
  if (!half || !column) copy_row(p, i, line);
  if (!half || column) copy_column(p, i, line);
  if (p.form != Form::antisymmetric) return line;
  // Above the diagonal a column is what the row is below it, with the other sign.
  const Array negative = column ? line.slice(0, i, line.size()) : line.slice(0, 0, i);
  negative.copy_from(ops::negative(negative));
  return line;
}

// A line of the matrix, views applied.
Array line_of(const AnyMatrix& m, i64 i, bool column) {
  const Payload& p = m.payload();
  const Array line = stored_line(p, i, column != m.transposed());
  return times_checked(m.conjugated() ? ops::conj(line) : line, m.scale()).astype(m.dtype());
}

Array taken(const Array& x, i64 axis, const SliceRange& r) {
  if (r.step == 1) return x.slice(axis, r.start, r.start + r.length);
  Layout l = x.layout();
  l.offset += r.length > 0 ? r.start * l.strides[static_cast<std::size_t>(axis)] : 0;
  l.strides[static_cast<std::size_t>(axis)] *= r.step;
  l.shape[static_cast<std::size_t>(axis)] = r.length;
  return x.view(l);
}

// Many rows of bits, some of which are unpacked at a time where the columns are not all taken.
AnyMatrix sliced_bits(const AnyMatrix& m, const SliceRange& rows, const SliceRange& columns) {
  const Bits all = m.words(m.device());
  const Array words = taken(all.words, 0, rows);
  if (columns.start == 0 && columns.step == 1 && columns.length == all.columns)
    return AnyMatrix::bits({words.copy(), all.columns});
  const Array out = empty_dense({rows.length, bit_words(columns.length)}, DType::u64, m.device());
  constexpr i64 step = 4096;
  for (i64 begin = 0; begin < rows.length; begin += step) {
    const i64 end = std::min(rows.length, begin + step);
    const Array bits = bit_unpack({words.slice(0, begin, end).contiguous(), all.columns});
    out.slice(0, begin, end).copy_from(bit_pack(taken(bits, 1, columns)).words);
  }
  return AnyMatrix::bits({out, columns.length});
}

}  // namespace

AnyMatrix sliced(const AnyMatrix& m, const Slice& rows, const Slice& columns) {
  const TagScope looking;
  const SliceRange r = resolve_slice(rows, m.rows()), c = resolve_slice(columns, m.cols());
  const bool bits = has_words(m) && m.dtype() == DType::b1;
  if (r.length > few_rows) {
    if (bits) return sliced_bits(m, r, c);
    return AnyMatrix::dense(taken(taken(m.array(), 0, r), 1, c).copy());
  }
  const Array out = empty_dense({r.length, c.length}, m.dtype(), m.device());
  for (i64 k = 0; k < r.length; ++k)
    out.select(0, k).copy_from(taken(line_of(m, r.start + k * r.step, false), 0, c));
  return bits ? AnyMatrix::bit(out) : AnyMatrix::dense(out);
}

Array row_of(const AnyMatrix& m, i64 i) {
  const TagScope looking;
  return line_of(m, resolve_integer(i, 0, m.rows()), false).copy();
}

Array column_of(const AnyMatrix& m, i64 j) {
  const TagScope looking;
  return line_of(m, resolve_integer(j, 1, m.cols()), true).copy();
}

Array diagonal(const AnyMatrix& m) {
  const TagScope looking;
  return diagonal_of(m, m.dtype(), m.device()).copy();
}

}  // namespace tessera
