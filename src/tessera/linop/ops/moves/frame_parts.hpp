// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where an image lies in a larger array (Frame), as parts that are dense in both. A frame that starts
// before the array's first element wraps: what lies before it comes to the end, so that along such an
// axis the image is in two parts.
//   for (const Layout& part : frame_parts(f, y.layout, FrameSide::outer, 0, n)) …

#include <vector>

#include "tessera/linop/core/offers.hpp"

namespace tessera {

struct FrameRun {
  i64 image, outer, count;  // where it begins on either side
};
inline std::vector<FrameRun> frame_runs(const Frame& f, i64 axis) {
  const i64 start = f.start[axis], size = f.image[axis];
  if (start >= 0) return {{0, start, size}};
  return {{-start, 0, size + start}, {0, f.outer[axis] + start, -start}};
}

enum class FrameSide : std::uint8_t { image, outer };

// The parts along image dims `first` to `last`, in the same order on both sides. The last axes of
// the array are those of the frame.
inline std::vector<Layout> frame_parts(const Frame& f, const Layout& whole, FrameSide side,
                                       i64 first, i64 last) {
  std::vector<Layout> parts{whole};
  for (i64 i = first; i < last; ++i) {
    std::vector<Layout> cut;
    for (const Layout& part : parts)
      for (const FrameRun& run : frame_runs(f, i)) {
        const i64 from = side == FrameSide::image ? run.image : run.outer;
        cut.push_back(part.slice(part.ndim() - f.image.size() + i, from, run.count));
      }
    parts = std::move(cut);
  }
  return parts;
}

}  // namespace tessera
