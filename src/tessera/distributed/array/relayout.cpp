// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/relayout.hpp"

#include <algorithm>

#include "tessera/device/threads.hpp"
#include "tessera/distributed/array/relayout_stage.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

bool whole(const Box& box) { return box.axis < 0; }
bool nothing(const Box& box) { return box.axis >= 0 && box.begin >= box.end; }

// Elements begin, begin + size of every axis.
struct Region {
  Shape begin, size;
  bool empty() const { return std::find(size.begin(), size.end(), 0) != size.end(); }
};

void clip(Region& region, const Box& box) {
  if (whole(box)) return;
  if (nothing(box)) {  // also of an array of rank 0, which has no axis to say it with
    region.size = {0};
    return;
  }
  const i64 begin = std::max(region.begin[box.axis], box.begin),
            end = std::min(region.begin[box.axis] + region.size[box.axis], box.end);
  region.begin[box.axis] = begin;
  region.size[box.axis] = std::max<i64>(0, end - begin);
}

Region intersection(const Shape& shape, const Box& a, const Box& b) {
  Region region{Shape(shape.size(), 0), shape};
  clip(region, a);
  if (!region.empty()) clip(region, b);
  return region;
}

i64 overlap(const Shape& shape, const Box& a, const Box& b) {
  if (nothing(a) || nothing(b)) return 0;
  i64 n = 1;
  for (i64 k = 0; k < shape.size(); ++k) {
    i64 begin = 0, end = shape[k];
    for (const Box* box : {&a, &b})
      if (box->axis == k) begin = std::max(begin, box->begin), end = std::min(end, box->end);
    n *= std::max<i64>(0, end - begin);
  }
  return n;
}

// The one rank that speaks for those that hold everything; -1: nobody does.
int first_whole(const Boxes& boxes) {
  const auto found = std::find_if(boxes.begin(), boxes.end(), whole);
  return found == boxes.end() ? -1 : static_cast<int>(found - boxes.begin());
}

// Whether r answers what q wants: who has everything needs nothing, and asks only one.
bool answers(const Boxes& from, int speaker, int r, int q) {
  return r != q && !whole(from[static_cast<std::size_t>(q)]) && (speaker < 0 || r == speaker);
}

// The layout of a region inside the block of a rank that holds `box` of the array.
Layout part_of(const Layout& block, const Box& box, const Region& region) {
  Layout l = block;
  for (i64 k = 0; k < l.ndim(); ++k) {
    const i64 origin = !whole(box) && box.axis == k ? box.begin : 0;
    l = l.slice(k, region.begin[k] - origin, region.size[k]);
  }
  return l;
}

std::vector<TravelPart> parts_to_send(const Array& mine, const Shape& shape, const Boxes& from,
                                      const Boxes& to, int me) {
  std::vector<TravelPart> parts;
  const int speaker = first_whole(from);
  const Box& box = from[static_cast<std::size_t>(me)];
  for (int q = 0; q < static_cast<int>(to.size()); ++q) {
    if (!answers(from, speaker, me, q)) continue;
    const Region region = intersection(shape, box, to[static_cast<std::size_t>(q)]);
    if (!region.empty()) parts.push_back({q, mine.view(part_of(mine.layout(), box, region))});
  }
  return parts;
}

std::vector<TravelPart> parts_to_receive(const Array& out, const Shape& shape, const Boxes& from,
                                         const Boxes& to, int me) {
  std::vector<TravelPart> parts;
  const int speaker = first_whole(from);
  const Box& box = to[static_cast<std::size_t>(me)];
  for (int r = 0; r < static_cast<int>(from.size()); ++r) {
    if (!answers(from, speaker, r, me)) continue;
    const Region region = intersection(shape, from[static_cast<std::size_t>(r)], box);
    if (!region.empty()) parts.push_back({r, out.view(part_of(out.layout(), box, region))});
  }
  return parts;
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

Staying staying(const Array& mine, const Shape& shape, const Box& from, const Array& out,
                const Box& to) {
  if (nothing(from) || nothing(to)) return {};
  const Region region = intersection(shape, from, to);
  if (region.empty()) return {};
  return {mine.view(part_of(mine.layout(), from, region)),
          out.view(part_of(out.layout(), to, region))};
}

Shape shape_of(const Shape& shape, const Box& box) {
  if (whole(box)) return shape;
  if (shape.empty()) return {0};  // nothing of a number
  Shape s = shape;
  s[box.axis] = std::max<i64>(0, box.end - box.begin);
  return s;
}

// Blocks of axis 0 in rank order, wanted whole by all: their bytes lie one after the other.
bool is_gather_of_rows(const Boxes& from, const Boxes& to) {
  i64 next = 0;
  for (const Box& box : from) {
    if (box.axis != 0 || box.begin != next) return false;
    next = std::max(box.begin, box.end);
  }
  return std::all_of(to.begin(), to.end(), whole);
}

// One rank has everything, the others nothing, and all want it.
bool is_broadcast(const Boxes& from, const Boxes& to) {
  return std::count_if(from.begin(), from.end(), whole) == 1 &&
         std::count_if(from.begin(), from.end(), nothing) ==
             static_cast<std::ptrdiff_t>(from.size()) - 1 &&
         std::all_of(to.begin(), to.end(), whole);
}

void gather_rows(const Array& mine, const Shape& shape, const Boxes& from, const Array& out,
                 const Communicator& comm) {
  const i64 row = overlap(shape, {0, 0, 1}, {}) * size_of(out.dtype());
  std::vector<i64> bytes;
  for (const Box& box : from) bytes.push_back(std::max<i64>(0, box.end - box.begin) * row);
  const Box& box = from[static_cast<std::size_t>(comm.rank())];
  staying(mine, shape, box, out, {}).copy();
  auto* all = static_cast<std::byte*>(out.host_data());
  comm.allgather(all + box.begin * row, bytes, all);
}

void check(const Shape& shape, const Array& block, const Box& box, std::string_view what) {
  if (nothing(box)) return;
  require<ShapeError>(block && block.shape() == shape_of(shape, box), "relayout: the ", what,
                      " block of an array of shape ", shape, " should have the shape ",
                      shape_of(shape, box));
}

}  // namespace

Boxes boxes_of(const Shape& shape, const Distribution& distribution, int ranks) {
  Boxes boxes(static_cast<std::size_t>(ranks));
  if (!distribution.split) return boxes;
  require<ShapeError>(distribution.part.ranks() == ranks && *distribution.split >= 0 &&
                          *distribution.split < shape.size() &&
                          distribution.part.size() == shape[*distribution.split],
                      "a distribution of ", distribution.part.size(), " entries of axis ",
                      *distribution.split, " over ", distribution.part.ranks(),
                      " ranks does not fit an array of shape ", shape, " on ", ranks, " ranks");
  for (int r = 0; r < ranks; ++r)
    boxes[static_cast<std::size_t>(r)] = {*distribution.split, distribution.part.begin(r),
                                          distribution.part.end(r)};
  return boxes;
}

Boxes boxes_on(int owner, int ranks) {
  Boxes boxes(static_cast<std::size_t>(ranks), Box{0, 0, 0});
  boxes[static_cast<std::size_t>(owner)] = {};
  return boxes;
}

Movement movement(const Shape& shape, i64 item, const Boxes& from, const Boxes& to) {
  Movement m;
  const int ranks = static_cast<int>(from.size()), speaker = first_whole(from);
  for (int r = 0; r < ranks; ++r) {
    i64 sent = 0;
    for (int q = 0; q < ranks; ++q) {
      if (!answers(from, speaker, r, q)) continue;
      const i64 n =
          overlap(shape, from[static_cast<std::size_t>(r)], to[static_cast<std::size_t>(q)]);
      m.messages += n > 0;
      sent += n * item;
    }
    m.sent.push_back(sent);
    m.bytes += sent;
  }
  return m;
}

void relayout_into(const Array& mine, const Shape& shape, const Boxes& from, const Array& out,
                   const Boxes& to, const Communicator& comm) {
  const auto me = static_cast<std::size_t>(comm.rank());
  check(shape, mine, from[me], "old");
  check(shape, out, to[me], "new");
  const DeviceLane* lane = comm.lane(out.device());
  std::vector<TravelPart> sends, receives;
  if (!nothing(from[me])) sends = parts_to_send(mine, shape, from, to, comm.rank());
  if (!nothing(to[me])) receives = parts_to_receive(out, shape, from, to, comm.rank());
  const Staying own = staying(mine, shape, from[me], out, to[me]);
  const bool along = own.rides_along() && !(sends.empty() && receives.empty());
  if (along) {
    sends.push_back({comm.rank(), own.from});
    receives.push_back({comm.rank(), own.to});
  }
  exchange_parts(sends, receives, lane, comm);
  if (!along) own.copy();
}

Array relayout(const Array& mine, const Shape& shape, DType dtype, const Boxes& from,
               const Boxes& to, const Communicator& comm) {
  const auto me = static_cast<std::size_t>(comm.rank());
  const Device device = mine ? mine.device() : cpu;
  if (is_broadcast(from, to)) {
    const Array all = broadcast_whole(mine, shape, dtype, device, first_whole(from), comm);
    return whole(from[me]) ? all.copy() : all;
  }
  const Array out = empty_dense(shape_of(shape, to[me]), dtype, device);
  if (device == cpu && is_gather_of_rows(from, to) && count_of(shape) > 0) {
    check(shape, mine, from[me], "old");
    gather_rows(mine, shape, from, out, comm);
  } else {
    relayout_into(mine, shape, from, out, to, comm);
  }
  return out;
}

}  // namespace tessera::dist
