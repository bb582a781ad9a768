// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/sweep.hpp"

#include <algorithm>

#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/streaming/linalg/device_blocks.hpp"

namespace tessera::streaming {
namespace {

// x -= op(chunk) y, for rows x and y of a right side.
void subtract_product(const Buffers& b, const Sweep& sweep, const Move& chunk,
                      const RightSide& side, const Range& x, const Range& y) {
  const DType t = sweep.dtype;
  const Turn turn = sweep.turn;
  if (sweep.device != cpu)
    return subtract_there(b(rows_of_side(side, x, t)), b(chunk.view), b(rows_of_side(side, y, t)));
  const i64 width = side.columns.size(), row = width * size_of(t);
  auto* data = b.at<std::byte>(side.buffer);
  gemm(t, x.size(), width, y.size(), {-1, 0},
       {b.at<std::byte>(chunk.view.buffer), chunk.box.shape[1], turn != Turn::none,
        turn == Turn::adjoint},
       {data + y.begin * row, width}, {1, 0}, data + x.begin * row, width);
}

void require_no_zero(std::string_view who, DType t, const std::byte* square, const Range& strip) {
  dispatch<float, double, c64, c128>(t, who, [&]<class T>() {
    const auto* a = reinterpret_cast<const T*>(square);
    for (i64 i = 0; i < strip.size(); ++i)
      if (a[i * (strip.size() + 1)] == T(0))
        throw LinAlgError(
            cat(who, ": Singular matrix: zero on the diagonal, row ", strip.begin + i + 1));
  });
}

}  // namespace

Move Sweep::chunk_of(const Range& rows, const Range& columns, i64 buffer) const {
  Box box{{rows.begin, columns.begin}, {rows.size(), columns.size()}};
  if (turn != Turn::none) box = {{columns.begin, rows.begin}, {columns.size(), rows.size()}};
  return {store, box, dense_view(buffer, box.shape, dtype)};
}

void Sweep::add(StreamPlan& plan, const std::vector<RightSide>& sides, Step before,
                const std::vector<Move>& writes) const {
  std::vector<i64> buffers;
  buffers.reserve(sides.size());
  for (const RightSide& s : sides) buffers.push_back(s.buffer);
  const auto use_sides = [&](Step& step) {
    step.uses.insert(step.uses.end(), buffers.begin(), buffers.end());
  };
  use_sides(before);
  plan.add_step(std::move(before));
  std::vector<Range> strips = cut_at_multiples(ascends() ? from : 0, n, strip);
  if (!ascends()) std::reverse(strips.begin(), strips.end());
  std::size_t next = 0;
  for (const Range& now : strips) {
    const auto done =
        ascends() ? cut_at_multiples(from, now.begin, chunk) : cut_at_multiples(now.end, n, chunk);
    for (const Range& known : done) {
      const Move part = chunk_of(now, known, slots[next++ % slots.size()]);
      Step step;
      step.reads.push_back(part);
      use_sides(step);
      step.compute = [=, me = *this](const Buffers& b) {
        for (const RightSide& s : sides) subtract_product(b, me, part, s, now, known);
      };
      plan.add_step(std::move(step));
    }
    const Move square = chunk_of(now, now, slots[next++ % slots.size()]);
    Step step;
    step.reads.push_back(square);
    use_sides(step);
    step.compute = [=, me = *this](const Buffers& b) {
      if (me.device != cpu) return me.solve_there(b, sides, square, now);
      const auto* data = b.at<std::byte>(square.view.buffer);
      if (!me.unit) require_no_zero(me.who, me.dtype, data, now);
      for (const RightSide& s : sides) {
        const i64 width = s.columns.size();
        solve_left(me.dtype, now.size(), width, {data, now.size(), me.lower, me.unit, me.turn},
                   b.at<std::byte>(s.buffer) + now.begin * width * size_of(me.dtype), width);
        if (me.after) me.after(b, s, now);
      }
    };
    if (now.begin == strips.back().begin) step.writes = writes;
    plan.add_step(std::move(step));
  }
}

void Sweep::solve_there(const Buffers& b, const std::vector<RightSide>& sides, const Move& square,
                        const Range& rows) const {
  for (const RightSide& s : sides) {
    solve_left_there(b(square.view), lower, unit, b(rows_of_side(s, rows, dtype)));
    if (after) after(b, s, rows);
  }
}

BufferView rows_of_side(const RightSide& side, const Range& rows, DType dtype) {
  const i64 width = side.columns.size();
  return {side.buffer, Layout{{rows.size(), width}, {width, 1}, rows.begin * width}, dtype};
}

i64 columns_of_sides(const StorePtr& sides) {
  const Shape& s = sides->grid().shape();
  return s.size() == 1 ? 1 : s[1];
}

RightSide right_side(i64 read_from, i64 write_to, const StorePtr& like, const Range& columns,
                     i64 buffer) {
  const Shape& s = like->grid().shape();
  const Box box =
      s.size() == 1 ? Box{{0}, {s[0]}} : Box{{0, columns.begin}, {s[0], columns.size()}};
  const BufferView view = dense_view(buffer, box.shape, like->grid().dtype());
  return {buffer, columns, {read_from, box, view}, {write_to, box, view}};
}

}  // namespace tessera::streaming
