// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/bit_dense.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/ops/basic/zero.hpp"
#include "tessera/matrix/forms/strips.hpp"

namespace tessera {
namespace {

constexpr i64 word = 64;

// Columns [left, right) of words, in words of their own. A few rows at a time: they are unpacked.
Bits columns_of(const Bits& x, i64 left, i64 right) {
  const i64 rows = x.rows(), step = 4096;
  const Array out = Array::empty({rows, bit_words(right - left)}, DType::u64, x.words.device());
  for (i64 begin = 0; begin < rows; begin += step) {
    const i64 end = std::min(rows, begin + step);
    const Array bits = bit_unpack({x.words.slice(0, begin, end), x.columns});
    out.slice(0, begin, end).copy_from(bit_pack(bits.slice(1, left, right)).words);
  }
  return {out, right - left};
}

}  // namespace

// By slices, so that words that only repeat (tiles of another rank) do too.
Array BitDense::words_of(const Piece& p) const {
  if (half == Half::none) return words;
  const i64 height = p.bottom - p.top;
  return words.slice(0, p.offset, p.offset + height * p.width).reshape({height, p.width});
}

// Strips begin at multiples of 512 columns, so the words of a piece are whole words of the matrix.
std::vector<BitDense::Piece> BitDense::pieces(Half half, i64 rows, i64 cols) {
  if (half == Half::none) return {{0, rows, 0, cols, 0, bit_words(cols)}};
  const Strips strips(rows, true);
  std::vector<Piece> all;
  i64 offset = 0;
  for (const Strip& s : strips.list()) {
    Piece p{s.begin, s.end, s.begin, cols, s.offset, s.width};
    if (half == Half::lower) p = {s.begin, s.end, 0, s.end, offset, bit_words(s.end)};
    offset += (p.bottom - p.top) * p.width;
    all.push_back(p);
  }
  return all;
}

BitDense::BitDense(const Bits& bits, const Dims& ishape, const Dims& oshape)
    : half(Half::none),
      rows(bits.rows()),
      cols(bits.columns),
      words(bits.words),
      sides(ishape, oshape) {
  require<ShapeError>(words.ndim() == 2, "BitDense ", sides.names.str(), ": words of shape ",
                      words.shape(), ", expected rows and words");
}

BitDense::BitDense(i64 n, Array strips, const Dims& ishape, const Dims& oshape)
    : half(Half::upper), rows(n), cols(n), words(std::move(strips)), sides(ishape, oshape) {
  const i64 expected = Strips(n, true).elements();
  require<ShapeError>(words.ndim() == 1 && words.size() == expected, "BitDense ", sides.names.str(),
                      ": strips of shape ", words.shape(), ", expected (", expected, ",)");
}

BitDense BitDense::from_state(Half half, i64 rows, i64 cols, const Array& words,
                              const NamedShape& names) {
  require<DTypeError>(words.dtype() == DType::u64, "BitDense ", names.str(), ": words of ",
                      name(words.dtype()), ", expected uint64");
  require<ShapeError>(rows >= 0 && cols >= 0 && (half == Half::none || rows == cols), "BitDense ",
                      names.str(), ": ", rows, " x ", cols, " bits");
  i64 size = 0;
  for (const Piece& p : pieces(half, rows, cols)) size += (p.bottom - p.top) * p.width;
  require<ShapeError>(half == Half::none ? words.shape() == Shape{rows, bit_words(cols)}
                                         : words.shape() == Shape{size},
                      "BitDense ", names.str(), ": words of shape ", words.shape(), " for ", rows,
                      " x ", cols, " bits");
  BitDense a(Bits{Array::empty({0, 0}, DType::u64, words.device()), 0}, names.ishape, names.oshape);
  a.half = half;
  a.rows = rows;
  a.cols = cols;
  a.words = words;
  return a;
}

std::optional<i64> BitDense::size(NamedDimension d) const {
  if (d == sides.out) return rows;
  return d == sides.in ? std::optional(cols) : std::nullopt;
}

DType BitDense::output_dtype(DType t) const {
  if (!is_inexact(t)) return DType::i64;
  return size_of(t) == 2 ? DType::f32 : t;
}

void BitDense::apply(Recorder& r, const View& x, const View& y) const {
  if (rows == 0) return;
  if (cols == 0) return record::fill(r, Value(0), y);
  const bool as_they_are = y.dtype == DType::i64 && is_signed_int(x.dtype);
  const Panels p = sides.panels(r, x, y, as_they_are ? x.dtype : y.dtype);
  for (const Piece& piece : pieces(half, rows, cols)) {
    const View bits = r.constant(words_of(piece));
    const View in = rows_of(p.x, piece.left, piece.right),
               out = rows_of(p.y, piece.top, piece.bottom);
    const BitDenseSpec spec{operand_of(bits), operand_of(in), operand_of(out),
                            piece.right - piece.left};
    const View reads[] = {bits, in};
    r.launch(&KernelTable::bitdense, "bit_dense", spec, reads, out);
  }
  p.finish(r);
}

Bits BitDense::whole() const {
  if (half == Half::none) return {words, cols};
  const Array all = zeros({rows, bit_words(cols)}, DType::u64, words.device());
  for (const Piece& p : pieces(half, rows, cols))
    all.slice(0, p.top, p.bottom)
        .slice(1, p.left / word, p.left / word + p.width)
        .copy_from(words_of(p));
  return {all, cols};
}

void BitDense::keep(const Bits& all) {
  if (half == Half::none) {
    words = all.words;
    return;
  }
  const std::vector<Piece> list = pieces(half, rows, cols);
  i64 size = 0;
  for (const Piece& p : list) size += (p.bottom - p.top) * p.width;
  words = Array::empty({size}, DType::u64, all.words.device());
  for (const Piece& p : list)
    words_of(p).copy_from(
        all.words.slice(0, p.top, p.bottom).slice(1, p.left / word, p.left / word + p.width));
}

BitDense BitDense::adjoint() const {
  BitDense a = *this;
  std::swap(a.rows, a.cols);
  a.sides = sides.adjoint();
  if (half != Half::none) a.half = half == Half::upper ? Half::lower : Half::upper;
  a.keep(bit_transpose(whole()));
  return a;
}

BitDense BitDense::renamed(const Renames& r) const {
  BitDense a = *this;
  a.sides = sides.renamed(r);
  return a;
}

NamedLinop BitDense::split(const Tile& tile) const {
  const Cut down = cut_of(tile, sides.out, rows), across = cut_of(tile, sides.in, cols);
  const Dims &ishape = sides.names.ishape, &oshape = sides.names.oshape;
  if (down.size() == rows && across.size() == cols) return *this;
  const bool empty = half == Half::upper   ? down.start + 1 >= across.stop
                     : half == Half::lower ? across.start + 1 >= down.stop
                                           : false;
  if (empty) return Zero(ishape, oshape, {{sides.in, across.size()}, {sides.out, down.size()}});
  Bits part = whole();
  part.words = part.words.slice(0, down.start, down.stop);
  if (across.size() < cols) part = columns_of(part, across.start, across.stop);
  if (half == Half::upper && down.start == across.start && down.stop == across.stop)
    return BitDense(down.size(), Strips(down.size(), true).pack(part.words, true), ishape, oshape);
  return BitDense(part, ishape, oshape);
}

std::string BitDense::details() const {
  constexpr const char* names[] = {"", " strictly upper", " strictly lower"};
  return cat(rows, " x ", cols, " bits", names[static_cast<int>(half)]);
}

}  // namespace tessera
