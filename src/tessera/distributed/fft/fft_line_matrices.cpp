// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/fft/fft_line_matrices.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// The first number of rows of `width` that begins at a point or behind it.
i64 row_from(i64 point, i64 width) { return (point + width - 1) / width; }

// Two reals are a complex number.
Array in_pairs(const Array& found) {
  const DType dtype = complex_of(found.dtype());
  const Array dense = found.astype(real_of(dtype)).contiguous();
  Layout layout = Layout::contiguous({dense.shape(0), dense.shape(1) / 2});
  layout.offset = dense.layout().offset / 2;
  return Array(dense.storage(), layout, dtype);
}

}  // namespace

FirstMatrix::FirstMatrix(const DNDarray& x, i64 high, i64 unit, Boxes wanted)
    : shape_{high, x.shape(0) / high},
      unit_(unit),
      dtype_(x.dtype()),
      comm_(x.comm()),
      wanted_(in_elements(std::move(wanted))) {
  const i64 wide = shape_[1];
  for (int r = 0; r < comm_.size(); ++r) {
    const i64 first = row_from(x.part().begin(r), wide), last = x.part().end(r) / wide;
    rows_.push_back({0, first, std::max(first, last)});
  }
  const Box& mine = rows_[static_cast<std::size_t>(comm_.rank())];
  const i64 begin = x.part().begin(comm_.rank());
  whole_ = mine.begin == mine.end
               ? empty_dense({0, wide}, dtype_, x.device())
               : x.local()
                     .slice(0, mine.begin * wide - begin, mine.end * wide - begin)
                     .reshape({mine.end - mine.begin, wide});
  bring_cut_rows(x);
}

Array FirstMatrix::columns(const Boxes& points) const {
  const Boxes columns = in_elements(points);
  const Array found = Relayout(shape_, rows_, columns).run(whole_, dtype_, comm_);
  const auto me = static_cast<std::size_t>(comm_.rank());
  const Box& mine = columns[me];
  const i64 first = wanted_[me].begin;
  for (const auto& [row, entries] : cut_)
    found.select(0, row).copy_from(entries.slice(0, mine.begin - first, mine.end - first));
  return unit_ == 1 ? found : in_pairs(found);
}

void FirstMatrix::bring_cut_rows(const DNDarray& x) {
  const i64 wide = shape_[1];
  i64 next = 0;
  for (int r = 0; r <= comm_.size(); ++r) {
    const bool end = r == comm_.size();
    const Box box = end ? Box{0, shape_[0], shape_[0]} : rows_[static_cast<std::size_t>(r)];
    if (!end && box.begin == box.end) continue;
    for (; next < box.begin; ++next) {
      Boxes to;
      for (const Box& columns : wanted_)
        to.push_back({0, next * wide + columns.begin, next * wide + columns.end});
      cut_.emplace_back(next, relayout(x, std::move(to)));
    }
    next = box.end;
  }
}

Boxes FirstMatrix::in_elements(Boxes boxes) const {
  for (Box& box : boxes) box.begin *= unit_, box.end *= unit_;
  return boxes;
}

SecondMatrix::SecondMatrix(const Partition& given, i64 more, i64 front, i64 high, DType dtype,
                           Device device, const Communicator& comm)
    : part(given), behind(more) {
  std::vector<i64> counts;
  counts.reserve(static_cast<std::size_t>(comm.size()));
  for (int r = 0; r < comm.size(); ++r)
    counts.push_back(row_from(part.end(r), high) - row_from(part.begin(r), high));
  rows = Partition::of(counts);
  const int me = comm.rank();
  const i64 last = rows.end(me) * high - part.begin(me);
  const i64 room = front + last + (me == comm.size() - 1 ? more : 0);
  line = empty_dense({room}, dtype, device).slice(0, front, room);
  head = rows.begin(me) * high - part.begin(me);
  matrix = DNDarray(line.slice(0, head, last).reshape({rows.count(me), high}), {rows.size(), high},
                    {0, rows}, comm);
}

DNDarray SecondMatrix::finished() const {
  const Communicator& comm = matrix.comm();
  const i64 high = matrix.shape(1), n = part.size();
  Boxes from, to;
  for (int r = 0; r < comm.size(); ++r) {
    from.push_back({0, rows.begin(r) * high, rows.end(r) * high});
    to.push_back({0, part.begin(r), std::min(part.end(r), rows.begin(r) * high)});
  }
  const i64 count = part.count(comm.rank());
  Relayout({n}, std::move(from), std::move(to))
      .run_into(matrix.local().reshape({-1}), line.slice(0, 0, std::min(head, count)), comm);
  std::vector<i64> counts = part.counts();
  counts.back() += behind;
  const Partition all = Partition::of(counts);
  return DNDarray(line.slice(0, 0, all.count(comm.rank())), {all.size()}, {0, all}, comm);
}

Boxes SecondMatrix::columns() const {
  Boxes boxes;
  for (int r = 0; r < rows.ranks(); ++r) boxes.push_back({1, rows.begin(r), rows.end(r)});
  return boxes;
}

}  // namespace tessera::dist
