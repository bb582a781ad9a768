// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/record_moves.hpp"

namespace tessera::record {
namespace {

// The blocks of a roll, one axis after another: each axis is cut where it turns.
void roll_from(Recorder& r, const View& x, const View& y, const Shape& shifts, i64 axis) {
  if (axis == shifts.size()) return copy(r, x, y);
  const i64 n = y.shape()[axis], s = n > 0 ? ((shifts[axis] % n) + n) % n : 0;
  const auto part = [axis](const View& v, i64 start, i64 length) {
    return sub_view(v, v.layout.slice(axis, start, length));
  };
  if (s == 0) return roll_from(r, x, y, shifts, axis + 1);
  roll_from(r, part(x, 0, n - s), part(y, s, n - s), shifts, axis + 1);
  roll_from(r, part(x, n - s, s), part(y, 0, s), shifts, axis + 1);
}

}  // namespace

void place(Recorder& r, const View& x, const View& y, const Shape& start) {
  // Note [borders]: a border that is smaller than the inside is filled slab by slab, so that no
  // byte of the inside is written twice; a large one in one pass.
  const bool slabs = 2 * x.layout.size() > y.layout.size();
  Layout inside = y.layout;
  if (!slabs) fill(r, Value(0), y);
  for (i64 a = 0; a < start.size(); ++a) {
    const i64 length = x.shape()[a], end = start[a] + length, rest = y.shape()[a] - end;
    if (slabs && start[a] > 0) fill(r, Value(0), sub_view(y, inside.slice(a, 0, start[a])));
    if (slabs && rest > 0) fill(r, Value(0), sub_view(y, inside.slice(a, end, rest)));
    inside = inside.slice(a, start[a], length);
  }
  copy(r, x, sub_view(y, inside));
}

void roll(Recorder& r, const View& x, const View& y, const Shape& shifts) {
  roll_from(r, x, y, shifts, 0);
}

}  // namespace tessera::record
