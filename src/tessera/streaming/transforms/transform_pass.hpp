// SPDX-License-Identifier: Apache-2.0
#pragma once
// One pass of a transform over a store: strips that hold whole lines along some axes are read,
// transformed in memory by the kernel of arrays, and written to another store. A value: what is
// read and written, in which strips, and what a step holds. Private to the library.
//   if (cut_within(pass, tile, budget, {.least = 1})) pass.held();

#include <optional>
#include <vector>

#include "tessera/streaming/plan/stream_plan.hpp"
#include "tessera/streaming/transforms/transform_spec.hpp"

namespace tessera::streaming {

// One axis of a store that a pass sees as two, `axis` and the one behind it: element (r, c) is
// element r * columns + c, and there are `length` of them.
struct AxisInTwo {
  i64 axis = 0, columns = 1, length = 0;
};

struct TransformPass {
  FftKind kind = FftKind::complex;
  Shape axes = {};              // that are transformed, as the kernel has them; none: numbers move
  Shape in, work, out;          // read; with zeros appended along the axes; written
  DType from, working, result;  // in the store that is read, of the kernel's operands
  int sign = -1;
  double scale = 1;
  bool conjugates_in = false, conjugates_out = false;
  // Of a transform in two passes, as rows and columns. The first multiplies by roots of unity of
  // `rooted` points along its axis and the next one; the second writes what it has with both axes
  // exchanged.
  std::optional<AxisInTwo> read_in_two = {}, written_in_two = {};
  i64 rooted = 0;
  // Into real numbers by such a pair: half of a line stands for all of it, so that these two numbers
  // count once, and all others twice; the real part is kept.
  i64 counts_once = -1;  // 0 and this one, where it is not 0
  bool takes_real_part = false;

  Shape step = {};  // of a strip; whole along the axes
  i64 slots = 1;    // strips in memory at a time

  i64 ndim() const { return work.size(); }
  bool is_whole_along(i64 axis) const;
  bool converts() const { return from != working; }
  bool has_output() const { return kind != FftKind::complex || takes_real_part; }
  Shape strip(const Shape& sizes, const Shape& along) const;  // `sizes` where it is whole
  FftSpec kernel(const Shape& box) const;
  // Bytes of a slot, of the memory of the kernel, and of both, for strips of a shape and those that
  // remain at the end of axes.
  i64 slot_bytes(const Shape& box) const;
  i64 workspace_bytes(const Shape& box) const;
  i64 held(const Shape& box, i64 count) const;
  i64 held() const { return held(step, slots); }
};

struct SlotRange {
  i64 least = 1, most = 3;  // one is read, one computed, one written
};
// The largest strips within the budget that go along the tiles that are read, filled by rows or by
// columns, with as many slots as fit. False where not even one line fits.
bool cut_within(TransformPass& pass, const Shape& tile, i64 budget, SlotRange slots,
                bool by_columns = false);

}  // namespace tessera::streaming
