// SPDX-License-Identifier: Apache-2.0
// Diagonals and triangles: where an entry stands is known from the offset of the block.
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::dist {
namespace {

// The entries of a diagonal: rows and columns from (row, column) on.
struct Line {
  i64 row = 0, column = 0, length = 0;
};

Line line_of(i64 rows, i64 columns, i64 offset) {
  Line l{std::max<i64>(0, -offset), std::max<i64>(0, offset), 0};
  l.length = std::max<i64>(0, std::min(rows - l.row, columns - l.column));
  return l;
}

// The other axes, then the line.
Array along(const Array& x, const Line& line, i64 rows, i64 columns) {
  const Layout& from = x.layout();
  Layout to;
  to.offset = from.offset;
  if (line.length > 0 && from.size() > 0)
    to.offset += line.row * from.strides[rows] + line.column * from.strides[columns];
  for (i64 a = 0; a < from.ndim(); ++a)
    if (a != rows && a != columns) {
      to.shape.push_back(from.shape[a]);
      to.strides.push_back(from.strides[a]);
    }
  to.shape.push_back(line.length);
  to.strides.push_back(from.strides[rows] + from.strides[columns]);
  return x.view(std::move(to));
}

// The part of a line that lies in entries [begin, end) of the rows or of the columns.
Line clipped(const Line& line, i64 at, i64 begin, i64 end) {
  const i64 first = std::clamp<i64>(begin - at, 0, line.length),
            last = std::clamp<i64>(end - at, first, line.length);
  return {line.row + first, line.column + first, last - first};
}

// Entries at or below the diagonal (or at or above it), zero elsewhere; the local matrix starts at
// (row, column) of the whole.
Array triangle(const Array& x, i64 row, i64 column, i64 offset, bool lower) {
  const i64 rows = x.shape(x.ndim() - 2), columns = x.shape(x.ndim() - 1);
  const auto count = [&](i64 start, i64 n) {
    return tessera::arange(Value(start), Value(start + n), Value(1), DType::i64, x.device());
  };
  const Array i = count(row + offset, rows).expand_dims(1), j = count(column, columns);
  const Array keep = lower ? ops::greater_equal(i, j) : ops::less_equal(i, j);
  return ops::where(keep, x, Value(false));
}

DNDarray triangle(const DNDarray& given, i64 offset, bool lower) {
  require<ShapeError>(given.ndim() > 0, lower ? "tril" : "triu",
                      ": expected an array of at least one dimension, got one of none");
  const DNDarray x =
      given.ndim() == 1 ? broadcast_to(given, {given.shape(0), given.shape(0)}) : given;
  const i64 start = x.split() ? x.part().begin(x.comm().rank()) : 0;
  const i64 row = x.split() == x.ndim() - 2 ? start : 0,
            column = x.split() == x.ndim() - 1 ? start : 0;
  return DNDarray(triangle(x.local(), row, column, offset, lower), x.shape(), x.distribution(),
                  x.comm());
}

// The matrix with x as its diagonal: rows without an entry belong to the ranks at the ends.
DNDarray from_diagonal(const DNDarray& x, i64 offset) {
  const i64 n = x.shape(0) + std::abs(offset);
  const int last = x.comm().size() - 1, me = x.comm().rank();
  Distribution to;
  if (x.split()) {
    std::vector<i64> counts = x.part().counts();
    (offset < 0 ? counts.front() : counts[static_cast<std::size_t>(last)]) += std::abs(offset);
    to = {0, Partition::of(counts)};
  }
  const i64 begin = to.split ? to.part.begin(me) : 0, end = to.split ? to.part.end(me) : n;
  const Array y = tessera::zeros({end - begin, n}, x.dtype(), x.device());
  Line line = clipped(line_of(n, n, offset), std::max<i64>(0, -offset), begin, end);
  line.row -= begin;
  along(y, line, 0, 1).copy_from(x.local());
  return DNDarray(y, {n, n}, to, x.comm());
}

}  // namespace

DNDarray diagonal(const DNDarray& x, i64 offset, i64 axis1, i64 axis2) {
  require<ArgumentError>(x.ndim() >= 2, "diag requires an array of at least two dimensions");
  const i64 rows = normalize_axis(axis1, x.ndim(), "axis1"),
            columns = normalize_axis(axis2, x.ndim(), "axis2");
  require<ArgumentError>(rows != columns, "axis1 and axis2 cannot be the same");
  const Line line = line_of(x.shape(rows), x.shape(columns), offset);
  if (!x.split() || (*x.split() != rows && *x.split() != columns)) {
    Distribution to;
    if (x.split()) to = {*x.split() - (rows < *x.split()) - (columns < *x.split()), x.part()};
    return view_of(x, to, [&](const Array& y) { return along(y, line, rows, columns); });
  }
  const bool by_rows = *x.split() == rows;
  const i64 at = by_rows ? line.row : line.column, begin = x.part().begin(x.comm().rank());
  Line mine = clipped(line, at, begin, x.part().end(x.comm().rank()));
  (by_rows ? mine.row : mine.column) -= begin;
  return x.with(along(x.local(), mine, rows, columns),
                along(stand_in(x), line, rows, columns).layout(),
                {x.ndim() - 2, x.part().sliced({at, line.length, 1})});
}

DNDarray diag(const DNDarray& x, i64 offset) {
  require<ArgumentError>(x.ndim() == 1 || x.ndim() == 2, "Input must be 1- or 2-d.");
  return x.ndim() == 1 ? from_diagonal(x, offset) : diagonal(x, offset).copy();
}

DNDarray tril(const DNDarray& x, i64 offset) { return triangle(x, offset, true); }
DNDarray triu(const DNDarray& x, i64 offset) { return triangle(x, offset, false); }

}  // namespace tessera::dist
