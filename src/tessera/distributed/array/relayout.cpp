// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/relayout.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/device/threads.hpp"
#include "tessera/distributed/array/relayout_stage.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

bool whole(const Box& box) { return box.axis < 0; }
bool nothing(const Box& box) { return box.axis >= 0 && box.begin >= box.end; }

Shape shape_of(const Shape& shape, const Box& box) {
  if (whole(box)) return shape;
  if (shape.empty()) return {0};  // nothing of a number
  Shape s = shape;
  s[box.axis] = std::max<i64>(0, box.end - box.begin);
  return s;
}

// A piece inside the block of a rank that holds `box` of the array.
Array part_of(const Array& block, const Box& box, const Relayout::Piece& piece) {
  Layout l = block.layout();
  for (i64 k = 0; k < l.ndim(); ++k) {
    const i64 origin = box.axis == k ? box.begin : 0;
    l = l.slice(k, piece.begin[k] - origin, piece.size[k]);
  }
  return block.view(l);
}

bool has_long_runs(const Array& a) {
  constexpr i64 long_run = 1 << 10;
  if (a.is_contiguous()) return true;
  const i64 last = a.ndim() - 1;
  return a.layout().strides[last] == 1 && a.shape()[last] * size_of(a.dtype()) >= long_run;
}

// What stays on this rank, as it lay and as it will lie; empty handles where nothing does.
struct Staying {
  Array from, to;
  void copy() const {
    if (from) to.copy_from(from);
  }
  // Long runs of memory that one thread copies as well as several: they can go while messages do.
  bool rides_along() const {
    constexpr i64 worth_threads = i64{1} << 20;
    return from && from.device() == cpu && has_long_runs(from) && has_long_runs(to) &&
           (from.bytes() <= worth_threads || num_threads() == 1);
  }
};

void check(const Shape& shape, const Array& block, const Box& box, std::string_view what) {
  if (nothing(box)) return;
  require<ShapeError>(block && block.shape() == shape_of(shape, box), "relayout: the ", what,
                      " block of an array of shape ", shape, " should have the shape ",
                      shape_of(shape, box));
}

}  // namespace

Boxes boxes_of(const Shape& shape, const Distribution& distribution, int ranks) {
  Boxes boxes(to_index(ranks));
  if (!distribution.split) return boxes;
  require<ShapeError>(distribution.part.ranks() == ranks && *distribution.split >= 0 &&
                          *distribution.split < shape.size() &&
                          distribution.part.size() == shape[*distribution.split],
                      "a distribution of ", distribution.part.size(), " entries of axis ",
                      *distribution.split, " over ", distribution.part.ranks(),
                      " ranks does not fit an array of shape ", shape, " on ", ranks, " ranks");
  for (int r = 0; r < ranks; ++r)
    boxes[to_index(r)] = {*distribution.split, distribution.part.begin(r),
                          distribution.part.end(r)};
  return boxes;
}

Boxes boxes_on(int owner, int ranks) {
  Boxes boxes(to_index(ranks), Box{0, 0, 0});
  boxes[to_index(owner)] = {};
  return boxes;
}

Boxes boxes_of(const DNDarray& x) {
  const int p = x.comm().size();
  return x.known() ? boxes_of(x.shape(), x.distribution(), p) : boxes_on(*x.owner(), p);
}

std::string_view name(Pattern pattern) {
  switch (pattern) {
    case Pattern::to_all: return "every rank to all";
    case Pattern::from_owner: return "the owner to all";
    default: return "between pairs of ranks";
  }
}

i64 Movement::bytes() const { return std::accumulate(sent.begin(), sent.end(), i64{0}); }

void Movement::send(int rank, i64 count, i64 bytes) {
  if (count == 0 || bytes == 0) return;
  messages += count;
  sent[to_index(rank)] += bytes;
}

Relayout::Relayout(Shape shape, Boxes from, Boxes to)
    : shape_(std::move(shape)), from_(std::move(from)), to_(std::move(to)) {
  const auto found = std::find_if(from_.begin(), from_.end(), whole);
  source_ = found == from_.end() ? -1 : static_cast<int>(found - from_.begin());
}

// Who has everything needs nothing, and one alone sends for all that have it.
Relayout::Piece Relayout::piece(int from, int to) const {
  const Box &old_box = from_[to_index(from)], &new_box = to_[to_index(to)];
  const bool sends =
      from == to || (!whole(from_[to_index(to)]) && (source_ < 0 || from == source_));
  // Also of an array of rank 0, which has no axis to say it with.
  if (!sends || nothing(old_box) || nothing(new_box)) return {{}, {0}};
  Piece piece{Shape(shape_.size(), 0), shape_};
  for (const Box* box : {&old_box, &new_box}) {
    if (whole(*box)) continue;
    i64 &begin = piece.begin[box->axis], &size = piece.size[box->axis];
    const i64 end = std::min(begin + size, box->end);
    begin = std::max(begin, box->begin);
    size = std::max<i64>(0, end - begin);
  }
  return piece;
}

Array Relayout::in_old(const Array& block, int rank, const Piece& piece) const {
  return part_of(block, from_[to_index(rank)], piece);
}
Array Relayout::in_new(const Array& block, int rank, const Piece& piece) const {
  return part_of(block, to_[to_index(rank)], piece);
}
Shape Relayout::new_shape(int rank) const { return shape_of(shape_, to_[to_index(rank)]); }

// Blocks of axis 0 in rank order, wanted whole by all: their bytes lie one after the other.
bool Relayout::is_gather_of_rows() const {
  i64 next = 0;
  for (const Box& box : from_) {
    if (box.axis != 0 || box.begin != next) return false;
    next = std::max(box.begin, box.end);
  }
  return std::all_of(to_.begin(), to_.end(), whole);
}

// One rank has everything, the others nothing, and all want it.
bool Relayout::is_broadcast() const {
  return std::count_if(from_.begin(), from_.end(), whole) == 1 &&
         std::count_if(from_.begin(), from_.end(), nothing) ==
             static_cast<std::ptrdiff_t>(from_.size()) - 1 &&
         std::all_of(to_.begin(), to_.end(), whole);
}

Pattern Relayout::pattern() const {
  return is_broadcast()        ? Pattern::from_owner
         : is_gather_of_rows() ? Pattern::to_all
                               : Pattern::pairs;
}

template <class Bytes>
Movement Relayout::counted(Bytes bytes_of) const {
  const int ranks = static_cast<int>(from_.size());
  Movement m{pattern(), 0, std::vector<i64>(from_.size())};
  for (int r = 0; r < ranks; ++r)
    for (int q = 0; q < ranks; ++q)
      if (q != r) m.send(r, 1, bytes_of(piece(r, q).elements()));
  return m;
}

Movement Relayout::movement(i64 item) const {
  return counted([&](i64 n) { return n * item; });
}
Movement Relayout::movement_in_bits() const {
  return counted([](i64 n) { return (n + 7) / 8; });
}

void Relayout::gather_rows(const Array& mine, const Array& out, const Communicator& comm) const {
  const i64 row = out.bytes() / shape_[0];
  std::vector<i64> bytes;
  for (const Box& box : from_) bytes.push_back(std::max<i64>(0, box.end - box.begin) * row);
  const int me = comm.rank();
  if (const Piece own = piece(me, me); !own.empty())
    in_new(out, me, own).copy_from(in_old(mine, me, own));
  auto* all = static_cast<std::byte*>(out.host_data());
  comm.allgather(all + from_[to_index(me)].begin * row, bytes, all);
}

void Relayout::run_into(const Array& mine, const Array& out, const Communicator& comm) const {
  const int me = comm.rank();
  check(shape_, mine, from_[to_index(me)], "old");
  check(shape_, out, to_[to_index(me)], "new");
  const DeviceLane* lane = comm.lane(out.device());
  std::vector<TravelPart> sends, receives;
  for (int q = 0; q < comm.size(); ++q) {
    if (q == me) continue;
    if (const Piece p = piece(me, q); !p.empty()) sends.push_back({q, in_old(mine, me, p)});
    if (const Piece p = piece(q, me); !p.empty()) receives.push_back({q, in_new(out, me, p)});
  }
  Staying own;
  if (const Piece p = piece(me, me); !p.empty()) own = {in_old(mine, me, p), in_new(out, me, p)};
  const bool along = own.rides_along() && !(sends.empty() && receives.empty());
  if (along) {
    sends.push_back({me, own.from});
    receives.push_back({me, own.to});
  }
  exchange_parts(sends, receives, lane, comm);
  if (!along) own.copy();
}

Array Relayout::run(const Array& mine, DType dtype, const Communicator& comm) const {
  const Box& box = from_[to_index(comm.rank())];
  const Device device = mine ? mine.device() : cpu;
  if (is_broadcast()) {
    const Array all = broadcast_whole(mine, shape_, dtype, device, source_, comm);
    return whole(box) ? all.copy() : all;
  }
  const Array out = empty_dense(new_shape(comm.rank()), dtype, device);
  if (device == cpu && is_gather_of_rows() && count_of(shape_) > 0) {
    check(shape_, mine, box, "old");
    gather_rows(mine, out, comm);
  } else {
    run_into(mine, out, comm);
  }
  return out;
}

Array relayout(const DNDarray& x, Boxes to) {
  const Relayout move(x, std::move(to));
  const Array& held = x.known() ? x.local() : x.resident();
  return move.run(held ? held : empty_dense({0}, x.dtype(), x.device()), x.dtype(), x.comm());
}

}  // namespace tessera::dist
