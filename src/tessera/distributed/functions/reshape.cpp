// SPDX-License-Identifier: Apache-2.0
// Note [rows and intervals]: in row-major order, the elements of a rank are the columns [begin,
// end) of a matrix whose rows are what the axes before the split axis count. With the split axis
// first there is one row, and the elements are an interval. Two distributions with the same rows
// exchange columns; rows and an interval share a part of a first row, whole rows, and a part of a
// last one.
#include "tessera/distributed/functions/reshape.hpp"

#include <algorithm>

#include "tessera/distributed/exchange/point_to_point.hpp"

namespace tessera::dist {
namespace {

i64 product(const Shape& s, i64 begin, i64 end) {
  i64 n = 1;
  for (i64 a = begin; a < end; ++a) n *= s[a];
  return n;
}

// A distributed as columns of rows.
struct Columns {
  i64 rows, unit;  // unit: elements of an entry of the split axis
  Partition part;
  i64 width() const { return part.size() * unit; }  // elements of a row
  i64 begin(int rank) const { return part.begin(rank) * unit; }
  i64 end(int rank) const { return part.end(rank) * unit; }
};

Columns columns_of(const Shape& shape, i64 split, const Partition& part) {
  return {product(shape, 0, split), product(shape, split + 1, shape.size()), part};
}

// The old cuts where they are cuts of the new axis, else balanced.
Partition cuts_for(const Columns& from, const Shape& to, i64 split) {
  const i64 unit = product(to, split + 1, to.size());
  const Partition even = Partition::even(to[split], from.part.ranks());
  if (product(to, 0, split) != from.rows || to[split] * unit != from.width() || unit == 0)
    return even;
  std::vector<i64> counts;
  for (int r = 0; r < from.part.ranks(); ++r) {
    const i64 n = from.end(r) - from.begin(r);
    if (n % unit != 0) return even;
    counts.push_back(n / unit);
  }
  return Partition::of(counts);
}

struct Piece {
  i64 row = 0, rows = 0, begin = 0, end = 0;  // columns of the whole row
};
constexpr int piece_kinds = 3;

// What columns [begin, end) of rows of `width` share with the interval [first, last) of all
// elements.
std::array<Piece, piece_kinds> shared(i64 width, i64 begin, i64 end, i64 first, i64 last) {
  std::array<Piece, piece_kinds> pieces;
  if (first >= last || begin >= end) return pieces;
  const i64 top = first / width, left = first % width, bottom = last / width, right = last % width;
  if (top == bottom) {
    pieces[0] = {top, 1, std::max(begin, left), std::min(end, right)};
  } else {
    const i64 whole = left > 0 ? top + 1 : top;
    if (left > 0) pieces[0] = {top, 1, std::max(begin, left), end};
    pieces[1] = {whole, bottom - whole, begin, end};
    if (right > 0) pieces[2] = {bottom, 1, begin, std::min(end, right)};
  }
  return pieces;
}

bool is_empty(const Piece& p) { return p.rows <= 0 || p.begin >= p.end; }

// A piece in the memory of the rank that has columns, `local` as (rows, its columns) ...
Array in_columns(const Array& local, const Piece& p, i64 begin) {
  return local.slice(0, p.row, p.row + p.rows).slice(1, p.begin - begin, p.end - begin);
}
// ... and of the rank that has an interval, `local` flat and dense.
Array in_interval(const Array& local, const Piece& p, i64 width, i64 first) {
  Layout l = local.layout();
  const i64 step = l.strides[0];
  l.offset += (p.row * width + p.begin - first) * step;
  l.shape = {p.rows, p.end - p.begin};
  l.strides = {width * step, step};
  return local.view(std::move(l));
}

void exchange_columns(const Array& mine, const Columns& from, const Array& out, const Columns& to,
                      const Communicator& comm) {
  const int me = comm.rank();
  std::vector<TravelPart> sends, receives;
  const Array source = mine.reshape({from.rows, from.end(me) - from.begin(me)});
  const Array target = out.reshape({to.rows, to.end(me) - to.begin(me)});
  for (int r = 0; r < comm.size(); ++r) {
    const i64 there = std::max(from.begin(me), to.begin(r)),
              there_end = std::min(from.end(me), to.end(r));
    if (there < there_end)
      sends.push_back({r, source.slice(1, there - from.begin(me), there_end - from.begin(me))});
    const i64 here = std::max(from.begin(r), to.begin(me)),
              here_end = std::min(from.end(r), to.end(me));
    if (here < here_end)
      receives.push_back({r, target.slice(1, here - to.begin(me), here_end - to.begin(me))});
  }
  exchange(sends, receives, comm.lane(out.device()), comm);
}

// One side has rows, the other an interval; `gathers`: the interval is the result.
void exchange_interval(const Array& columns, const Columns& rows, const Array& interval,
                       const Columns& flat, bool gathers, const Communicator& comm) {
  const int me = comm.rank();
  const Array matrix = columns.reshape({rows.rows, rows.end(me) - rows.begin(me)});
  const Array line = interval.reshape({-1});
  const DeviceLane* lane = comm.lane(line.device());
  for (int kind = 0; kind < piece_kinds; ++kind) {
    const auto k = static_cast<std::size_t>(kind);
    std::vector<TravelPart> of_columns, of_interval;
    for (int r = 0; r < comm.size(); ++r) {
      const Piece a =
          shared(rows.width(), rows.begin(me), rows.end(me), flat.begin(r), flat.end(r))[k];
      if (!is_empty(a)) of_columns.push_back({r, in_columns(matrix, a, rows.begin(me))});
      const Piece b =
          shared(rows.width(), rows.begin(r), rows.end(r), flat.begin(me), flat.end(me))[k];
      if (!is_empty(b))
        of_interval.push_back({r, in_interval(line, b, rows.width(), flat.begin(me))});
    }
    exchange(gathers ? of_columns : of_interval, gathers ? of_interval : of_columns, lane, comm);
  }
}

// Both with a split, of one size; the local parts are not yet where they should be.
DNDarray moved(const DNDarray& x, const Shape& shape, const Distribution& to) {
  const Columns from = columns_of(x.shape(), *x.split(), x.part()),
                into = columns_of(shape, *to.split, to.part);
  Shape lshape = shape;
  lshape[*to.split] = to.part.count(x.comm().rank());
  const Array out = Array::empty({count_of(lshape)}, x.dtype(), x.device());
  if (from.rows == into.rows)
    exchange_columns(x.local(), from, out, into, x.comm());
  else if (into.rows == 1)
    exchange_interval(x.local(), from, out, into, true, x.comm());
  else
    exchange_interval(out, into, x.local(), from, false, x.comm());
  return DNDarray(out.reshape(lshape), shape, to, x.comm());
}

// Every cut of the old split axis is a cut of the new one, whatever the cuts are.
bool keeps_cuts(const Columns& from, const Shape& shape, i64 split) {
  const i64 unit = product(shape, split + 1, shape.size());
  return product(shape, 0, split) == from.rows && from.unit % unit == 0;
}

DNDarray split_along(const DNDarray& x, const Shape& shape, i64 split) {
  const Columns from = columns_of(x.shape(), *x.split(), x.part());
  const i64 rows = product(shape, 0, split);
  if (rows != from.rows && rows != 1 && from.rows != 1 && x.size() > 0)
    return reshape(x, shape).resplit(split);
  const Distribution to{split, cuts_for(from, shape, split)};
  Shape lshape = shape;
  lshape[split] = to.part.count(x.comm().rank());
  if (x.size() == 0) {
    const DNDarray y(Array::empty(lshape, x.dtype(), x.device()), shape, to, x.comm());
    return x.writable() ? y : y.read_only();
  }
  const std::optional<Layout> view = x.whole().reshape(shape);
  if (view && keeps_cuts(from, shape, split)) return x.with(x.local().reshape(lshape), *view, to);
  bool stays = rows == from.rows;
  const i64 unit = product(shape, split + 1, shape.size());
  for (int r = 0; r < x.comm().size(); ++r)
    stays = stays && to.part.begin(r) * unit == from.begin(r);
  const DNDarray y =
      stays ? DNDarray(x.local().copy().reshape(lshape), shape, to, x.comm()) : moved(x, shape, to);
  return view ? y.moved_copy() : y;
}

// Without a split: the whole on every rank, or on its owner.
DNDarray reshaped_whole(const DNDarray& x, const Shape& shape) {
  const bool elsewhere = x.owner() && *x.owner() != x.comm().rank();
  if (const auto view = x.whole().reshape(shape))
    return x.with(elsewhere ? Array() : x.resident().reshape(shape), *view, {});
  const DNDarray y = x.copy();
  return y.with(elsewhere ? Array() : y.resident().reshape(shape), Layout::contiguous(shape), {});
}

}  // namespace

std::optional<i64> split_of_reshape(const Shape& from, i64 split, const Shape& to) {
  if (to.empty()) return std::nullopt;
  const i64 rows = product(from, 0, split);
  std::optional<i64> found;
  for (i64 a = 0; a < to.size(); ++a) {
    if (product(to, 0, a) != rows) continue;
    found = a;
    if (to[a] == from[split]) return a;
  }
  if (found) return found;
  for (i64 a = 0; a < to.size(); ++a)
    if (to[a] > 1) return a;
  return 0;
}

DNDarray reshape(const DNDarray& x, const Shape& shape, std::optional<i64> new_split) {
  const Shape full = stand_in({x.size()}, x.dtype()).reshape(shape).shape();
  if (new_split) new_split = normalize_axis(*new_split, full.size(), "reshape");
  if (!x.split()) {
    const DNDarray y = reshaped_whole(x, full);
    return new_split ? y.resplit(new_split) : y;
  }
  const std::optional<i64> split =
      new_split ? new_split : split_of_reshape(x.shape(), *x.split(), full);
  if (split) return split_along(x, full, *split);
  return reshaped_whole(x.resplit(std::nullopt), full).moved_copy();
}

DNDarray ravel(const DNDarray& x) {
  return x.whole().dense() ? reshape(x, {-1}) : reshape(x.copy(), {-1}).owned();
}

DNDarray flatten(const DNDarray& x) { return ravel(x).copy(); }

}  // namespace tessera::dist
