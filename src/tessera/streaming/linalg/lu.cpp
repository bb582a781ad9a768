// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/lu.hpp"

#include <algorithm>
#include <optional>

#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/streaming/linalg/device_blocks.hpp"
#include "tessera/streaming/linalg/sweep.hpp"
#include "tessera/streaming/linalg/triangular.hpp"

namespace tessera::streaming {
namespace {

using Pivot = std::int32_t;
constexpr i64 most_panels = 4;

// `panels` panels of `rows` rows of A stay, and as many columns of right sides; chunks of the
// factors of `rows` rows and `chunk` columns pass.
struct LuCut {
  i64 panels = 1, rows = 1, chunk = 1;

  i64 held(i64 n, DType dtype, Device device) const {
    const i64 element = size_of(dtype);
    return StreamPlan::rounded(n * i64{sizeof(Pivot)}) + panels * matrix_bytes(rows, n, element) +
           chunk_slots * matrix_bytes(rows, std::max(rows, chunk), element) +
           bytes_beside(device, dtype, rows, n);
  }
};

LuCut choose_lu_cut(std::string_view who, i64 n, DType dtype, Device device, i64 tile,
                    const Options& options) {
  const i64 budget = budget_of(options), element = size_of(dtype);
  LuCut best;
  require_budget(who, options, best.held(n, dtype, device));
  const auto cost = [&](const LuCut& c) {
    const i64 groups = (n + c.panels * c.rows - 1) / (c.panels * c.rows);
    return (1 + static_cast<double>(groups) * strip_cost(c.chunk, tile, element)) *
           (1 + 24 / static_cast<double>(c.rows));
  };
  for (i64 panels = most_panels; panels >= 1; --panels)
    for (const i64 chunk : strip_widths(n, tile)) {
      LuCut c{.panels = panels, .rows = (n + panels - 1) / panels, .chunk = chunk};
      i64 fits = 0;
      for (i64 above = c.rows + 1; above - fits > 1;) {
        c.rows = fits + (above - fits) / 2;
        (c.held(n, dtype, device) <= budget ? fits : above) = c.rows;
      }
      if (fits == 0) continue;
      c.rows = equal_parts(n, panels * fits);
      c.rows = (c.rows + panels - 1) / panels;
      if (cost(c) < cost(best)) best = c;
    }
  return best;
}

struct Panel {
  Range range;  // rows of A, or columns of right sides
  i64 buffer = 0;
};

// What is computed on rows that stay: all of their n columns lie in a buffer.
struct LuWork {
  std::string_view who;
  i64 n = 0;
  DType dtype = DType::f32;
  Device device = cpu;
  i64 pivots = 0;  // a buffer

  // Some columns of a panel, as a view by rows.
  BufferView part(const Panel& p, const Range& columns) const {
    return {p.buffer, Layout{{p.range.size(), columns.size()}, {n, 1}, columns.begin}, dtype};
  }
  Block block(const Buffers& b, const BufferView& view) const {
    return {b.at<std::byte>(view.buffer) + view.layout.offset * size_of(dtype),
            view.layout.strides[0]};
  }
  Array exchanges(const Buffers& b, const Range& rows) const {
    return b(BufferView{pivots, Layout{{rows.size()}, {1}, rows.begin}, DType::i32});
  }
  std::byte* at(const Buffers& b, const Panel& p, i64 column) const {
    return b.at<std::byte>(p.buffer) + column * size_of(dtype);
  }
  Pivot* pivots_of(const Buffers& b, const Range& rows) const {
    return b.at<Pivot>(pivots) + rows.begin;
  }

  void factorise(const Buffers& b, const Panel& p) const {
    const Range rows = p.range;
    const i64 zero = device != cpu
                         ? factorise_there(b(part(p, {rows.begin, n})), exchanges(b, rows))
                         : lu_block(dtype, rows.size(), n - rows.begin, at(b, p, rows.begin), n,
                                    pivots_of(b, rows));
    if (zero != 0) throw LinAlgError(cat(who, ": Singular matrix: zero pivot ", rows.begin + zero));
  }
  // The exchanges of earlier rows, and their unknowns, from the square at their diagonal.
  void solve(const Buffers& b, const Panel& p, const Range& rows, const BufferView& square) const {
    if (device != cpu) {
      exchange_columns_there(b(part(p, {rows.begin, n})), exchanges(b, rows));
      return solve_right_there(b(square), false, true, b(part(p, rows)));
    }
    const Block known = block(b, square);
    exchange_columns(dtype, p.range.size(), at(b, p, rows.begin), n, rows.size(),
                     pivots_of(b, rows));
    solve_right(dtype, p.range.size(), rows.size(), {known.data, known.ld, false, true},
                at(b, p, rows.begin), n);
  }
  // What these take from columns behind.
  void update(const Buffers& b, const Panel& p, const Range& rows, const Range& columns,
              const BufferView& chunk) const {
    if (device != cpu) return subtract_there(b(part(p, columns)), b(part(p, rows)), b(chunk));
    gemm(dtype, p.range.size(), columns.size(), rows.size(), {-1, 0}, {at(b, p, rows.begin), n},
         block(b, chunk), {1, 0}, at(b, p, columns.begin), n);
  }
  // The exchanges of some unknowns, on the right sides.
  void exchange_back(const Buffers& b, const RightSide& s, const Range& strip) const {
    if (device != cpu)
      return exchange_rows_back_there(b(rows_of_side(s, {strip.begin, n}, dtype)),
                                      exchanges(b, strip));
    const i64 width = s.columns.size();
    exchange_rows_back(dtype, width,
                       b.at<std::byte>(s.buffer) + strip.begin * width * size_of(dtype), width,
                       strip.size(), pivots_of(b, strip));
  }
  void fill_identity(const Buffers& b, const RightSide& s) const {
    const i64 width = s.columns.size();
    b(rows_of_side(s, {0, n}, dtype)).fill(Value(0));
    b(BufferView{s.buffer, Layout{{width}, {width + 1}, s.columns.begin * width}, dtype})
        .fill(Value(1));
  }
};

// Of a move into a buffer of its own.
BufferView by_rows(const Move& m) {
  return {m.view.buffer, Layout{m.box.shape, {m.box.shape[1], 1}, 0}, m.view.dtype};
}

class LuSteps {
 public:
  LuSteps(StreamPlan& plan, std::string_view who, i64 n, DType dtype, i64 factors,
          std::optional<i64> pivots, const LuCut& cut)
      : plan_(plan), factors_(factors), pivots_(pivots), cut_(cut) {
    const i64 e = size_of(dtype);
    work_ = {who, n, dtype, plan.figures().device, plan.add_buffer(n * i64{sizeof(Pivot)})};
    for (i64 k = 0; k < cut.panels; ++k) panels_.push_back(plan.add_buffer(cut.rows * n * e));
    for (i64 k = 0; k < chunk_slots; ++k)
      slots_.push_back(plan.add_buffer(cut.rows * std::max(cut.rows, cut.chunk) * e));
  }

  // All rows of A, some panels at a time.
  void factorise(i64 a) {
    for (i64 r = 0; r < work_.n; r += cut_.panels * cut_.rows) {
      std::vector<Panel> group = panels_from(r, work_.n);
      for (const Panel& p : group) {
        Step step;
        step.reads.push_back(rows_of(a, p));
        if (p.range.begin == r) let_restart(step, r);
        plan_.add_step(std::move(step));
      }
      for (i64 k = 0; k < r; k += cut_.rows) eliminate({k, k + cut_.rows}, group);
      while (!group.empty()) {
        const Panel first = group.front();
        group.erase(group.begin());
        factorise_panel(first, group);
      }
    }
  }

  // Right sides b into x; without b those of the inverse.
  void substitute(const StorePtr& like, std::optional<i64> b, i64 x) {
    const i64 m = columns_of_sides(like);
    for (i64 c = 0; c < m; c += cut_.panels * cut_.rows) {
      std::vector<RightSide> sides;
      for (const Panel& p : panels_from(c, m))
        sides.push_back(right_side(b.value_or(x), x, like, p.range, p.buffer));
      Step start;
      let_restart(start, work_.n);
      std::vector<Move> writes;
      for (const RightSide& s : sides) {
        if (b) start.reads.push_back(s.read);
        writes.push_back(s.write);
      }
      if (!b)
        start.compute = [sides, work = work_](const Buffers& buffers) {
          for (const RightSide& s : sides) work.fill_identity(buffers, s);
        };
      Sweep sweep{.who = work_.who,
                  .device = work_.device,
                  .store = factors_,
                  .dtype = work_.dtype,
                  .n = work_.n,
                  .strip = cut_.rows,
                  .chunk = cut_.chunk,
                  .slots = slots_,
                  .from = b ? 0 : c};
      sweep.add(plan_, sides, std::move(start), {});
      sweep.lower = false;
      sweep.unit = true;
      sweep.after = [work = work_](const Buffers& buffers, const RightSide& s, const Range& strip) {
        work.exchange_back(buffers, s, strip);
      };
      sweep.add(plan_, sides, {}, writes);
    }
  }

 private:
  // A run can begin with rows, or columns of X, that come new, once it has the exchanges of those
  // before: the factors are there.
  void let_restart(Step& step, i64 exchanged) const {
    if (!pivots_) return;
    step.restarts = true;
    if (exchanged > 0) step.restores.push_back(pivots_of({0, exchanged}));
  }
  Move pivots_of(const Range& rows) const {
    BufferView view = dense_view(work_.pivots, {rows.size()}, DType::i32);
    view.layout.offset = rows.begin;
    return {*pivots_, {{rows.begin}, {rows.size()}}, view};
  }
  std::vector<Panel> panels_from(i64 begin, i64 end) const {
    std::vector<Panel> out;
    for (const i64 buffer : panels_) {
      if (begin >= end) break;
      out.push_back({{begin, std::min(end, begin + cut_.rows)}, buffer});
      begin += cut_.rows;
    }
    return out;
  }
  Move rows_of(i64 store, const Panel& p) const {
    const Shape shape{p.range.size(), work_.n};
    return {store, {{p.range.begin, 0}, shape}, dense_view(p.buffer, shape, work_.dtype)};
  }
  Move chunk_of(const Range& rows, const Range& columns) {
    const i64 slot = slots_[next_slot_++ % slots_.size()];
    const Shape shape{rows.size(), columns.size()};
    return {factors_, {{rows.begin, columns.begin}, shape}, dense_view(slot, shape, work_.dtype)};
  }

  // The factors of earlier rows, as they were stored, on all rows that stay.
  void eliminate(const Range& rows, const std::vector<Panel>& group) {
    const auto add = [&](const Move& chunk, std::function<void(const Buffers&)> compute) {
      Step step;
      step.reads.push_back(chunk);
      for (const Panel& p : group) step.uses.push_back(p.buffer);
      step.compute = std::move(compute);
      plan_.add_step(std::move(step));
    };
    const Move square = chunk_of(rows, rows);
    add(square, [=, work = work_](const Buffers& b) {
      for (const Panel& p : group) work.solve(b, p, rows, by_rows(square));
    });
    for (const Range& columns : cut_at_multiples(rows.end, work_.n, cut_.chunk)) {
      const Move chunk = chunk_of(rows, columns);
      add(chunk, [=, work = work_](const Buffers& b) {
        for (const Panel& p : group) work.update(b, p, rows, columns, by_rows(chunk));
      });
    }
  }

  // A panel is factored in place; those behind it get their share from memory.
  void factorise_panel(const Panel& panel, const std::vector<Panel>& behind) {
    Step step;
    step.uses.push_back(panel.buffer);
    for (const Panel& p : behind) step.uses.push_back(p.buffer);
    step.writes.push_back(rows_of(factors_, panel));
    if (pivots_) step.writes.push_back(pivots_of(panel.range));
    step.compute = [=, work = work_](const Buffers& b) {
      work.factorise(b, panel);
      const Range rows = panel.range, after{rows.end, work.n};
      for (const Panel& p : behind) {
        work.solve(b, p, rows, work.part(panel, rows));
        work.update(b, p, rows, after, work.part(panel, after));
      }
    };
    plan_.add_step(std::move(step));
  }

  StreamPlan& plan_;
  LuWork work_;
  i64 factors_;
  std::optional<i64> pivots_;  // a store
  LuCut cut_;
  std::vector<i64> panels_, slots_;
  std::size_t next_slot_ = 0;
};

StreamPlan plan_lu(std::string_view who, const StorePtr& a, const StorePtr& b, const StorePtr& x,
                   const StorePtr& factors, const Options& options, const StorePtr& exchanges,
                   Device device) {
  const Shape& shape = a->grid().shape();
  const DType t = a->grid().dtype();
  require<ShapeError>(factors->grid().shape() == shape, who, ": a matrix of shape ", shape,
                      " and a store of shape ", factors->grid().shape(),
                      " for its factors: the shapes do not match");
  require<DTypeError>(factors->grid().dtype() == t, who, ": ", name(t), " with factors in ",
                      name(factors->grid().dtype()), ": one dtype for all");
  require<IoError>(factors->writable(), who,
                   ": the store of the factors is read-only: ", factors->describe());
  require<ArgumentError>(factors != a && factors != b && factors != x, who,
                         ": the store of the factors is one of the operands");
  if (exchanges) {
    const store::TileGrid& grid = exchanges->grid();
    require<ShapeError>(grid.shape() == Shape({shape[0]}) && grid.dtype() == DType::i32, who,
                        ": exchanges of ", shape[0], " rows take as many int32, got a store of ",
                        grid.shape(), " ", name(grid.dtype()));
  }
  StreamPlan plan(b ? cat(who, ": ", shape, " with right sides ", b->grid().shape(), ", ", name(t))
                    : cat(who, ": ", shape, ", ", name(t)),
                  options);
  plan.compute_on(device);
  const i64 from = plan.add_store("A", a), scratch = plan.add_store("factors", factors);
  std::optional<i64> right, pivots;
  if (exchanges) pivots = plan.add_store("exchanges", exchanges);
  if (b) right = plan.add_store("B", b);
  const i64 to = plan.add_store("X", x), n = shape[0];
  if (n == 0) return plan;
  const LuCut cut = choose_lu_cut(who, n, t, device, factors->grid().tile_shape()[1], options);
  plan.add_held(bytes_beside(device, t, cut.rows, n));
  if (device != cpu)
    plan.add_held_by_host(StreamPlan::rounded(12 * n));  // exchanges, told as an order
  LuSteps steps(plan, who, n, t, scratch, pivots, cut);
  steps.factorise(from);
  steps.substitute(x, right, to);
  plan.add_work(b ? Workload{.op = Operation::solve, .dtype = t, .m = n, .n = columns_of_sides(b)}
                  : Workload{.op = Operation::inverse, .dtype = t, .m = n});
  plan.add_note(cat(cut.panels * cut.rows, " rows of A, then columns of X, stay in ", cut.panels,
                    " panels; chunks of the factors of (", cut.rows, ", ", cut.chunk, ") pass"));
  return plan;
}

}  // namespace

StreamPlan plan_solve(const StorePtr& a, const StorePtr& b, const StorePtr& x,
                      const StorePtr& factors, const Options& options, const StorePtr& exchanges,
                      Device device) {
  require_system("solve", a, b, x);
  return plan_lu("solve", a, b, x, factors, options, exchanges, device);
}

StreamPlan plan_inverse(const StorePtr& a, const StorePtr& x, const StorePtr& factors,
                        const Options& options, const StorePtr& exchanges, Device device) {
  require_system("inverse", a, a, x);
  return plan_lu("inverse", a, nullptr, x, factors, options, exchanges, device);
}

}  // namespace tessera::streaming
