// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a pass in boxes of a shape would read, by a few of its boxes: files read along what lies
// between the numbers of a box, so that passes in narrow boxes can read a file several times over.
// Private to the library.
//   ReadAlong r;   each_sampled(tiles, step, [&](const Box& b) { r.add(*store, b, layout); });   r.share()

#include <functional>

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

struct ReadAlong {
  i64 wanted = 0, read = 0;  // bytes
  void add(const store::TileStore& store, const Box& box, const Layout& into) {
    wanted += box.size() * size_of(store.grid().dtype());
    read += store.bytes_to_read(box, into);
  }
  void add(const store::TileStore& store, const Box& box) {
    add(store, box, Layout::contiguous(box.shape));
  }
  double share() const {
    return wanted > 0 ? static_cast<double>(read) / static_cast<double>(wanted) : 1;
  }
};
// A cut that reads this much more than another one is worse; below it other reasons decide.
inline constexpr double much_more = 1.02;

// Boxes from the beginning, the middle and the end of the tiles, and of the parts of each.
void each_sampled(const store::TileGrid& tiles, const Shape& step,
                  const std::function<void(const Box&)>& visit);

}  // namespace tessera::streaming
