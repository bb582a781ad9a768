// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/tall_steps.hpp"

#include <algorithm>
#include <utility>

#include "tessera/streaming/linalg/reflections.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 out_slots = 2;
constexpr i64 panel_bytes = i64{8} << 20;  // more rows at a time make nothing faster

}  // namespace

TallSteps::TallSteps(StreamPlan& plan, std::string_view who, const store::TileGrid& a,
                     TallOutput output, i64 sides, i64 squares, const Options& options)
    : plan_(plan),
      m_(a.shape()[0]),
      n_(a.shape()[1]),
      sides_(sides),
      squares_(squares),
      output_(output),
      work_{.n = n_, .sides = sides, .block = reflection_block(n_), .dtype = a.dtype()} {
  choose(who, options);
  add_buffers();
}

i64 TallSteps::held(const Cut& cut) const {
  const i64 e = size_of(work_.dtype), square = matrix_bytes(n_, n_, e), block = work_.block;
  i64 fixed = square + matrix_bytes(block, n_, e) + matrix_bytes(block, std::max(n_, sides_), e) +
              squares_ * matrix_bytes(n_ + 1, n_ + sides_, e);
  i64 each = matrix_bytes(cut.rows, n_, e) + matrix_bytes(block, n_, e);
  if (output_ == TallOutput::product) fixed += square + out_slots * matrix_bytes(cut.rows, n_, e);
  if (output_ == TallOutput::system) {
    fixed += matrix_bytes(n_, sides_, e) + StreamPlan::rounded(sides_ * i64{sizeof(double)});
    each += matrix_bytes(cut.rows, sides_, e);
  }
  return fixed + cut.slots * each;
}

void TallSteps::choose(std::string_view who, const Options& options) {
  const i64 budget = budget_of(options), below = m_ - n_;
  cut_.slots = output_ == TallOutput::product ? 2 : 3;
  require_budget(who, options, held(cut_));
  const i64 e = size_of(work_.dtype),
            enough = std::max(2 * n_, panel_bytes / std::max<i64>(1, (n_ + sides_) * e));
  i64 fits = 1;
  for (i64 above = std::min(below, enough) + 1; above - fits > 1;) {
    cut_.rows = fits + (above - fits) / 2;
    (held(cut_) <= budget ? fits : above) = cut_.rows;
  }
  cut_.rows = equal_parts(below, fits);
  if (output_ != TallOutput::product) return;
  // A panel that stays is not written and read once more.
  const i64 now = held(cut_), more = held({cut_.rows, cut_.slots + 1}) - now;
  cut_.slots = std::clamp<i64>(more > 0 ? cut_.slots + (budget - now) / more : panels(), 1,
                               std::max<i64>(1, panels()));
}

void TallSteps::add_buffers() {
  const i64 e = size_of(work_.dtype), block = work_.block;
  work_.square = plan_.add_buffer(n_ * n_ * e);
  work_.square_factors = plan_.add_buffer(block * n_ * e);
  work_.work = plan_.add_buffer(block * std::max(n_, sides_) * e);
  plan_.add_held(squares_ * matrix_bytes(n_ + 1, n_ + sides_, e));
  for (i64 k = 0; k < cut_.slots; ++k) {
    panels_.push_back(plan_.add_buffer(cut_.rows * n_ * e));
    factors_.push_back(plan_.add_buffer(block * n_ * e));
  }
  if (output_ == TallOutput::product) {
    work_.start = plan_.add_buffer(n_ * n_ * e);
    for (i64 k = 0; k < out_slots; ++k) outs_.push_back(plan_.add_buffer(cut_.rows * n_ * e));
  }
  if (output_ == TallOutput::system) {
    work_.side_top = plan_.add_buffer(n_ * sides_ * e);
    work_.rest = plan_.add_buffer(sides_ * i64{sizeof(double)});
    for (i64 k = 0; k < cut_.slots; ++k)
      side_panels_.push_back(plan_.add_buffer(cut_.rows * sides_ * e));
  }
}

Move TallSteps::rows_move(i64 store, const Range& rows, i64 buffer) const {
  const Shape shape{rows.size(), n_};
  Move m{store, {{rows.begin, 0}, shape}, dense_view(buffer, shape, work_.dtype)};
  m.view.layout.strides = {1, rows.size()};
  return m;
}

Move TallSteps::sides_move(const SideStore& sides, const Range& rows, i64 buffer) const {
  if (sides.axes == 1)
    return {
        sides.store, {{rows.begin}, {rows.size()}}, dense_view(buffer, {rows.size()}, work_.dtype)};
  const Shape shape{rows.size(), sides_};
  Move m{sides.store, {{rows.begin, 0}, shape}, dense_view(buffer, shape, work_.dtype)};
  m.view.layout.strides = {1, rows.size()};
  return m;
}

Move TallSteps::factors_move(i64 panel) const {
  const Shape shape{work_.block, n_};
  return {factors_store_,
          {{panel * work_.block, 0}, shape},
          dense_view(factors_[slot(panel)], shape, work_.dtype)};
}

void TallSteps::add_top(i64 from, const std::optional<SideStore>& sides) {
  Step step;
  step.reads.push_back(rows_move(from, {0, n_}, work_.square));
  step.uses = {work_.square_factors, work_.work};
  if (sides) {
    step.reads.push_back(sides_move(*sides, {0, n_}, work_.side_top));
    step.uses.push_back(work_.rest);
  }
  step.compute = [work = work_, with_sides = sides.has_value()](const Buffers& b) {
    work.reduce_top(b);
    if (with_sides) work.reduce_top_sides(b);
  };
  plan_.add_step(std::move(step));
}

void TallSteps::add_panel(i64 panel, i64 from, const std::optional<SideStore>& sides,
                          std::vector<Move> aside) {
  const Range rows = rows_of(panel);
  const i64 buffer = panels_[slot(panel)], factors = factors_[slot(panel)];
  Step step;
  step.reads.push_back(rows_move(from, rows, buffer));
  step.writes = std::move(aside);
  step.uses = {work_.square, factors, work_.work};
  i64 side = -1;
  if (sides) {
    side = side_panels_[slot(panel)];
    step.reads.push_back(sides_move(*sides, rows, side));
    step.uses.push_back(work_.side_top);
    step.uses.push_back(work_.rest);
  }
  step.compute = [=, work = work_](const Buffers& b) {
    work.reduce_panel(b, rows.size(), buffer, factors);
    if (side >= 0) work.reduce_panel_sides(b, rows.size(), buffer, factors, side);
  };
  plan_.add_step(std::move(step));
}

void TallSteps::add_expanded_panel(i64 panel, i64 to, bool is_triangle) {
  const Range rows = rows_of(panel);
  const i64 buffer = panels_[slot(panel)], factors = factors_[slot(panel)],
            out = outs_[static_cast<std::size_t>(panel % out_slots)];
  Step step;
  if (!stays(panel)) step.reads = {rows_move(to, rows, buffer), factors_move(panel)};
  step.uses = {buffer, factors, work_.start, work_.work};
  step.writes.push_back(rows_move(to, rows, out));
  step.compute = [=, work = work_](const Buffers& b) {
    work.expand_panel(b, rows.size(), buffer, factors, out, is_triangle);
  };
  plan_.add_step(std::move(step));
}

void TallSteps::reduce(i64 from, const std::optional<SideStore>& sides) {
  add_top(from, sides);
  for (i64 k = 0; k < panels(); ++k) add_panel(k, from, sides, {});
  plan_.at_end([work = work_, sides = sides.has_value()](const Buffers& b) {
    return sides ? work.system(b) : work.triangle(b);
  });
  plan_.add_note(cat("a triangle of ", n_, " rows stays, panels of ", cut_.rows, " rows pass"));
}

void TallSteps::reduce_and_expand(i64 from, i64 to, const TriangleUse& use,
                                  const MakeScratch& scratch) {
  const i64 waiting = std::max<i64>(0, panels() - cut_.slots);
  if (waiting > 0)
    factors_store_ =
        plan_.add_store("scratch", scratch("panels", {waiting * work_.block, n_}, work_.dtype));
  add_top(from, {});
  for (i64 k = 0; k < panels(); ++k)
    add_panel(
        k, from, {},
        stays(k) ? std::vector<Move>{}
                 : std::vector<Move>{rows_move(to, rows_of(k), panels_[slot(k)]), factors_move(k)});
  const auto result = std::make_shared<Array>();
  Step turn;
  turn.uses = {work_.square, work_.start};
  turn.compute = [work = work_, of = use.of, result](const Buffers& b) {
    TriangleAnswer answer = of(work.triangle(b));
    work.begin_product(b, answer.factor ? answer.factor.contiguous() : Array());
    *result = std::move(answer.result);
  };
  plan_.add_step(std::move(turn));
  for (i64 k = panels() - 1; k >= 0; --k) add_expanded_panel(k, to, !use.has_factor);
  Step top;
  top.uses = {work_.square, work_.square_factors, work_.work};
  top.writes.push_back(rows_move(to, {0, n_}, work_.start));
  top.compute = [work = work_](const Buffers& b) { work.expand_top(b); };
  plan_.add_step(std::move(top));
  plan_.at_end([result](const Buffers&) { return std::exchange(*result, Array()); });
  plan_.add_note(cat("a triangle of ", n_, " rows stays, panels of ", cut_.rows,
                     " rows pass twice, the last ", cut_.slots, " stay between"));
}

}  // namespace tessera::streaming
