// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/halo.hpp"

#include "tessera/distributed/array/relayout_stage.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// The nearest rank in a direction that holds something; -1: none.
int neighbour(const Partition& part, int rank, int direction) {
  for (int r = rank + direction; r >= 0 && r < part.ranks(); r += direction)
    if (part.count(r) > 0) return r;
  return -1;
}

void require_width(const DNDarray& x, i64 width) {
  require<SplitError>(x.split().has_value(),
                      "halo: the array has no split, so that its blocks have no neighbours");
  require<ArgumentError>(width >= 0, "halo: expected a width of at least 0, got ", width);
  for (int r = 0; r < x.part().ranks(); ++r)
    require<ArgumentError>(x.part().count(r) == 0 || width <= x.part().count(r),
                           "halo: a width of ", width, " is beyond the ", x.part().count(r),
                           " entries of rank ", r);
}

}  // namespace

Halo halo(const DNDarray& x, i64 width, bool previous, bool next) {
  require_width(x, width);
  const i64 axis = *x.split(), count = x.lshape()[axis];
  const int me = x.comm().rank(), before = count > 0 ? neighbour(x.part(), me, -1) : -1,
            after = count > 0 ? neighbour(x.part(), me, +1) : -1;
  auto room = [&](bool there) {
    Shape shape = x.lshape();
    shape[axis] = there ? width : 0;
    return empty_dense(shape, x.dtype(), x.device());
  };
  const Halo h{room(previous && before >= 0), room(next && after >= 0)};
  std::vector<TravelPart> sends, receives;
  auto add = [](std::vector<TravelPart>& parts, int rank, const Array& block) {
    if (block.size() > 0) parts.push_back({rank, block});
  };
  const Array& mine = x.local();
  if (before >= 0 && next) add(sends, before, mine.slice(axis, 0, width));
  if (after >= 0 && previous) add(sends, after, mine.slice(axis, count - width, count));
  add(receives, before, h.previous);
  add(receives, after, h.next);
  exchange_parts(sends, receives, x.comm().lane(x.device()), x.comm());
  return h;
}

Array with_halo(const DNDarray& x, i64 width) {
  const Halo h = halo(x, width);
  const Array parts[] = {h.previous, x.local(), h.next};
  return concatenate(parts, *x.split());
}

}  // namespace tessera::dist
