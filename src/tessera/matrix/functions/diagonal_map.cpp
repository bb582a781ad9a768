// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/functions/diagonal_map.hpp"

#include <algorithm>

#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/moves/window.hpp"
#include "tessera/plan/record_sums.hpp"

namespace tessera {
namespace {

// The values along the first axis of a target.
View along_rows(const View& values, const View& target) {
  Layout l = values.layout;
  for (i64 i = 1; i < target.layout.ndim(); ++i) l = l.insert_axis(i);
  return sub_view(values, l);
}

}  // namespace

DiagonalMap::DiagonalMap(Array v, i64 m, i64 n, const Dims& ishape, const Dims& oshape, bool conj)
    : values(std::move(v)),
      rows(m),
      cols(n),
      length(std::min(m, n)),
      sides(ishape, oshape),
      conjugated(conj) {
  if (values)
    require<ShapeError>(values.ndim() == 1 && values.size() == length, "DiagonalMap ",
                        sides.names.str(), ": values of shape ", values.shape(), " for a ", rows,
                        " x ", cols, " matrix");
}

DiagonalMap DiagonalMap::from_state(Array values, i64 rows, i64 cols, i64 length, i64 row, i64 col,
                                    const NamedShape& names, bool conjugated) {
  const bool inside = length >= 0 && row >= 0 && col >= 0 && row <= rows && col <= cols &&
                      length <= rows - row && length <= cols - col;
  require<ShapeError>(inside && (!values || values.shape() == Shape{length}), "DiagonalMap ",
                      names.str(), ": ", length, " values from (", row, ", ", col, ") of a ", rows,
                      " x ", cols, " matrix");
  DiagonalMap a(Array(), rows, cols, names.ishape, names.oshape, conjugated);
  a.values = std::move(values);
  a.length = length;
  a.row = row;
  a.col = col;
  return a;
}

std::optional<i64> DiagonalMap::size(NamedDimension d) const {
  if (d == sides.out) return rows;
  return d == sides.in ? std::optional(cols) : std::nullopt;
}

std::optional<Device> DiagonalMap::device() const {
  return values ? std::optional(values.device()) : std::nullopt;
}

void DiagonalMap::apply(Recorder& r, const View& x, const View& y) const {
  const View from = rows_of(sub_view(x, sides.arranged(x.layout, false)), col, col + length),
             to = sub_view(y, sides.arranged(y.layout, true)), hit = rows_of(to, row, row + length);
  if (row > 0) record::fill(r, Value(0), rows_of(to, 0, row));
  if (row + length < rows) record::fill(r, Value(0), rows_of(to, row + length, rows));
  if (length == 0) return;
  if (!values) return record::copy(r, from, hit);
  const View v = along_rows(r.constant(values), hit);
  conjugated ? record::conj_multiply(r, v, from, hit) : record::multiply(r, v, from, hit);
}

bool DiagonalMap::apply_add(Recorder& r, const View& x, const View& y) const {
  if (conjugated) return false;
  const View from = rows_of(sub_view(x, sides.arranged(x.layout, false)), col, col + length),
             hit = rows_of(sub_view(y, sides.arranged(y.layout, true)), row, row + length);
  if (length == 0) return true;
  values ? record::add_product(r, along_rows(r.constant(values), hit), from, hit)
         : record::add(r, hit, from, hit);
  return true;
}

DiagonalMap DiagonalMap::adjoint() const {
  DiagonalMap a = *this;
  std::swap(a.rows, a.cols);
  std::swap(a.row, a.col);
  a.sides = sides.adjoint();
  a.conjugated = values && is_complex(values.dtype()) && !conjugated;
  return a;
}

std::optional<NamedLinop> DiagonalMap::normal() const {
  if (!values && length == cols) return Identity(sides.names.ishape);
  if (!values) return Window(sides.names.ishape, {{sides.in, col, col + length, cols}});
  // The weight is aligned to the right: axes behind its own are counted, or it is the last.
  Shape shape{cols};
  bool behind = false;
  for (NamedDimension d : sides.names.ishape) {
    if (behind && d.is_ellipses()) return std::nullopt;
    if (behind) shape.push_back(1);
    behind = behind || d == sides.in;
  }
  Array squares = ops::abs2(values);
  if (length != cols) {  // inputs that do not count
    const Array all = Array::empty({cols}, squares.dtype(), squares.device());
    all.fill(Value(0));
    all.slice(0, col, col + length).copy_from(squares);
    squares = all;
  }
  return Diagonal(squares.reshape(shape), sides.names.ishape);
}

DiagonalMap DiagonalMap::renamed(const Renames& r) const {
  DiagonalMap a = *this;
  a.sides = sides.renamed(r);
  return a;
}

DiagonalMap DiagonalMap::split(const Tile& tile) const {
  const Cut down = cut_of(tile, sides.out, rows), across = cut_of(tile, sides.in, cols);
  // Entry t lies at (row + t, col + t).
  const i64 begin = std::max({i64{0}, down.start - row, across.start - col}),
            end = std::max(begin, std::min({length, down.stop - row, across.stop - col}));
  DiagonalMap part = *this;
  part.rows = down.size();
  part.cols = across.size();
  part.length = end - begin;
  part.row = part.length > 0 ? row + begin - down.start : 0;
  part.col = part.length > 0 ? col + begin - across.start : 0;
  if (values) part.values = values.slice(0, begin, end);
  return part;
}

std::string DiagonalMap::details() const {
  return cat(rows, " x ", cols, values ? cat(" ", values.dtype()) : std::string(" identity"),
             conjugated ? " conjugated" : "");
}

}  // namespace tessera
