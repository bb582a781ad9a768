// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/transform_pass.hpp"

#include <algorithm>

#include "tessera/kernels/eager.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 largest_slot = i64{256} << 20;  // bytes, but for single lines: people wait

i64 divided(i64 n, i64 by) { return (n + by - 1) / by; }

// The side of a part of a tile, at most `most`. Where other tiles follow, a few more parts that divide
// the tile are better than parts of which some would lie across two tiles.
i64 side_of_part(i64 side, i64 most, bool others_follow) {
  const i64 fewest = divided(side, std::min(most, side));
  for (i64 parts = fewest; others_follow && parts <= std::min(2 * fewest, side); ++parts)
    if (side % parts == 0) return side / parts;
  return divided(side, fewest);
}

// At most `room` lines: all of the last axes of a tile first, or of the first ones, then whole tiles,
// in equal parts.
Shape filled_step(const TransformPass& pass, const Shape& tile, i64 room, bool by_columns) {
  Shape step = pass.work;
  for (const bool by_tiles : {false, true})
    for (i64 k = 0; k < pass.ndim(); ++k) {
      const i64 d = by_columns ? k : pass.ndim() - 1 - k;
      if (pass.is_whole_along(d)) continue;
      const i64 all = std::max<i64>(1, pass.work[d]), side = std::clamp<i64>(tile[d], 1, all);
      if (!by_tiles) {
        step[d] = side_of_part(side, room, all > side);
        room /= step[d];
      } else if (step[d] == side && room > 1) {
        const i64 tiles = divided(all, side), most = std::min(room, tiles);
        const i64 each = divided(tiles, divided(tiles, most));
        step[d] = std::min(all, each * side);
        room /= each;
      }
    }
  return step;
}

}  // namespace

bool TransformPass::is_whole_along(i64 axis) const {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Shape TransformPass::strip(const Shape& sizes, const Shape& along) const {
  Shape s = along;
  for (const i64 a : axes) s[a] = sizes[a];
  return s;
}

FftSpec TransformPass::kernel(const Shape& box) const {
  FftSpec spec;
  spec.kind = kind;
  spec.in = {Layout::contiguous(strip(work, box)), working};
  spec.out = spec.in;
  if (kind != FftKind::complex) spec.out = {Layout::contiguous(strip(out, box)), result};
  spec.axes = axes;
  spec.sign = sign;
  spec.scale = scale;
  spec.in_place = kind == FftKind::complex;
  return spec;
}

i64 TransformPass::slot_bytes(const Shape& box) const {
  const i64 lines = count_of(strip(work, box));
  i64 bytes = StreamPlan::rounded(lines * size_of(working));
  if (converts()) bytes += StreamPlan::rounded(lines * size_of(from));
  if (has_output()) bytes += StreamPlan::rounded(count_of(strip(out, box)) * size_of(result));
  return StreamPlan::rounded(bytes);
}

i64 TransformPass::workspace_bytes(const Shape& box) const {
  if (axes.empty()) return 0;
  std::vector<Shape> shapes{strip(work, box)};
  for (i64 d = 0; d < ndim(); ++d) {
    if (is_whole_along(d) || work[d] % box[d] == 0) continue;
    for (std::size_t k = 0, n = shapes.size(); k < n; ++k) {
      shapes.push_back(shapes[k]);
      shapes.back()[d] = work[d] % box[d];
    }
  }
  i64 most = 0;
  for (const Shape& s : shapes)
    most = std::max(most, kernels_of(cpu).fft.prepare(kernel(s), cpu).workspace);
  return StreamPlan::rounded(most);
}

i64 TransformPass::held(const Shape& box, i64 count) const {
  return count * slot_bytes(box) + workspace_bytes(box);
}

bool cut_within(TransformPass& pass, const Shape& tile, i64 budget, SlotRange range,
                bool by_columns) {
  const Shape one = pass.strip(pass.work, Shape(pass.ndim(), 1));
  const i64 line =
      count_of(one) * size_of(pass.working) +
      (pass.converts() ? count_of(one) * size_of(pass.from) : 0) +
      (pass.has_output() ? count_of(pass.strip(pass.out, one)) * size_of(pass.result) : 0);
  for (i64 slots = range.most; slots >= range.least; --slots) {
    i64 room = std::min(budget / slots, std::max(line, largest_slot)) / line;
    while (room >= 1) {
      const Shape step = filled_step(pass, tile, room, by_columns);
      const i64 held = pass.held(step, slots);
      if (held <= budget) {
        pass.step = step;
        pass.slots = slots;
        return true;
      }
      const double share = 0.97 * static_cast<double>(budget) / static_cast<double>(held);
      room = std::min(room - 1, static_cast<i64>(share * static_cast<double>(room)));
    }
    // The last guess may have gone past one line.
    if (slots * line <= budget && pass.held(one, slots) <= budget) {
      pass.step = one;
      pass.slots = slots;
      return true;
    }
  }
  return false;
}

}  // namespace tessera::streaming
