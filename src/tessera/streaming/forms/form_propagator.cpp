// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_propagator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/streaming/forms/shifted_block.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 c_slots = 2, k_rows = 2;  // squares of C, and rows of squares of K, that pass

// Squares of one side, and how many of K stay.
struct PropagatorCut {
  i64 side = 1, block_rows = 1, block_cols = 1;
  double cost = 0;  // as so many bytes that are read
};

struct PropagatorSizes {
  const FormSource& c;
  i64 n() const { return c.stored_rows; }
  i64 blocks(i64 side) const { return (n() + side - 1) / side; }
  i64 c_bytes(i64 side) const {
    const i64 s = std::min(side, n());
    return StreamPlan::rounded(c.has_words() ? word_bytes(s, s) : number_bytes(c.dtype, s, s));
  }
  i64 k_bytes(i64 side) const {
    const i64 s = std::min(side, n());
    return StreamPlan::rounded(number_bytes(DType::f64, s, s));
  }
  i64 held(const PropagatorCut& cut) const {
    const i64 passing = cut.block_rows < blocks(cut.side) ? k_rows * cut.block_cols : 0;
    return (cut.block_rows * cut.block_cols + passing) * k_bytes(cut.side) +
           c_slots * c_bytes(cut.side) +
           shifted_temporary_bytes(c.dtype, c.has_words(), std::min(cut.side, n()));
  }
  double cost(const PropagatorCut& cut) const;
};

// Bytes that pass and are written, and work in what a disk reads meanwhile: tables of rows are made anew for each
// square of bits, products of narrow squares are slow, and each step costs something.
double PropagatorSizes::cost(const PropagatorCut& cut) const {
  const double all = static_cast<double>(n()), side = static_cast<double>(cut.side);
  const i64 count = blocks(cut.side);
  double squares = 0, again = 0;
  for (i64 right = std::min(cut.block_cols, count);;
       right = std::min(right + cut.block_cols, count)) {
    const double high = static_cast<double>(right);
    squares += high * high / 2;
    if (cut.block_rows < count)
      again += high * high / 2 / static_cast<double>(cut.block_rows) *
               static_cast<double>(cut.block_cols);
    if (right == count) break;
  }
  constexpr double step_bytes = 1 << 17, bytes_an_add = 0.01, bytes_a_term = 0.013;
  const double work = c.has_words() ? bytes_an_add * all * all * all * (1 + 256 / side)
                                    : bytes_a_term * all * all * all * (1 + 24 / side);
  const double written = all * (all + side) / 2 * sizeof(double);
  return written + squares * (static_cast<double>(c_bytes(cut.side)) + step_bytes) +
         again * static_cast<double>(k_bytes(cut.side)) + work;
}

PropagatorCut choose_propagator_cut(const FormSource& c, const Options& options) {
  const PropagatorSizes s{c};
  const i64 budget = budget_of(options), unit = c.has_words() ? 512 : 1,
            least = std::min<i64>(std::max<i64>(unit, 32), s.n());
  PropagatorCut best;
  bool found = false;
  i64 fewest = std::numeric_limits<i64>::max();
  for (i64 side = (s.n() + unit - 1) / unit * unit;;
       side = std::max(least, ((side + 1) / 2 + unit - 1) / unit * unit)) {
    const i64 count = s.blocks(side);
    for (i64 columns = 1;; columns = std::min(2 * columns, count)) {
      PropagatorCut cut{side, count, columns};
      fewest = std::min(fewest, s.held(cut));
      if (s.held(cut) > budget) {
        cut.block_rows = 1;
        fewest = std::min(fewest, s.held(cut));
        const i64 more = budget - s.held(cut);
        if (more < 0) break;
        cut.block_rows = std::min(count - 1, 1 + more / (columns * s.k_bytes(side)));
        if (cut.block_rows < 1) break;
      }
      cut.cost = s.cost(cut);
      if (!found || cut.cost < best.cost) best = cut;
      found = true;
      if (columns == count) break;
    }
    if (side <= least || side <= unit) break;
  }
  if (!found) require_budget("compute_k", options, fewest);
  return best;
}

// A square of C in a buffer.
struct SquareOfC {
  BufferView view;
  i64 columns = 0;
  bool words = false;
  ShiftedBlock block(const Buffers& buffers) const { return {buffers(view), columns, words}; }
};

class PropagatorPlanner {
 public:
  PropagatorPlanner(StreamPlan& plan, const FormSource& c, double a, const StorePtr& out,
                    const PropagatorCut& cut)
      : plan_(plan), c_(c), a_(a), cut_(cut) {
    const PropagatorSizes sizes{c_};
    c_store_ = plan.add_store("C", c.store);
    k_store_ = plan.add_store("K", out);
    parts_ = cut_at_multiples(0, c.stored_rows, cut.side);
    const auto buffers = [&](i64 count, i64 bytes) {
      std::vector<i64> made;
      for (i64 k = 0; k < count; ++k) made.push_back(plan_.add_buffer(bytes));
      return made;
    };
    squares_of_c_ = buffers(c_slots, sizes.c_bytes(cut.side));
    group_ = buffers(cut.block_rows * cut.block_cols, sizes.k_bytes(cut.side));
    if (cut.block_rows < count())
      passing_ = buffers(k_rows * cut.block_cols, sizes.k_bytes(cut.side));
    plan.add_held(
        shifted_temporary_bytes(c.dtype, c.has_words(), std::min(cut.side, c.stored_rows)));
  }

  void add_steps() {
    for (left_ = 0; left_ < count(); left_ += cut_.block_cols) {
      right_ = std::min(count(), left_ + cut_.block_cols);
      for (bottom_ = right_; bottom_ > 0; bottom_ = top_) {
        top_ = std::max<i64>(0, bottom_ - cut_.block_rows);
        add_first();
        add_below();
        add_group();
      }
    }
    plan_.add_note(cat("squares of (", cut_.side, ", ", cut_.side, "): ", cut_.block_rows, " x ",
                       cut_.block_cols, " of K stay",
                       passing_.empty() ? "; K is written once and not read"
                                        : ", those below them are read back"));
  }

 private:
  i64 count() const { return static_cast<i64>(parts_.size()); }
  const Range& part(i64 k) const { return parts_[static_cast<std::size_t>(k)]; }
  BufferView kept(i64 i, i64 j) const {
    return dense_view(group_[static_cast<std::size_t>((i - top_) * cut_.block_cols + j - left_)],
                      {part(i).size(), part(j).size()}, DType::f64);
  }
  Box box_of_k(i64 i, i64 j) const {
    return {{part(i).begin, part(j).begin}, {part(i).size(), part(j).size()}};
  }
  // A square of C on its way.
  SquareOfC read_c(i64 i, i64 j, Step& step) {
    const BlockPlace place = place_of(c_, part(i), part(j));
    const Box box = box_of(c_, place);
    const BufferView view = dense_view(squares_of_c_[static_cast<std::size_t>(turn_++ % c_slots)],
                                       box.shape, c_.store->grid().dtype());
    step.reads.push_back({c_store_, box, view});
    step.uses.push_back(view.buffer);
    return {view, part(j).size(), c_.has_words()};
  }

  // The right sides: squares of C as numbers.
  void add_first() {
    bool first = true;
    for (i64 i = top_; i < bottom_; ++i)
      for (i64 j = std::max(i, left_); j < right_; ++j) {
        Step step;
        const SquareOfC from = read_c(i, j, step);
        const BufferView to = kept(i, j);
        step.uses.push_back(to.buffer);
        step.restarts = first;
        first = false;
        step.compute = [from, to, diagonal = i == j](const Buffers& b) {
          from.block(b).copy_to(b(to), diagonal);
        };
        plan_.add_step(std::move(step));
      }
  }
  // What lies below the group, from the file.
  void add_below() {
    for (i64 k = bottom_; k < right_; ++k) {
      Step step;
      std::vector<std::pair<i64, BufferView>> rows;
      for (i64 j = std::max(k, left_); j < right_; ++j) {
        const BufferView view =
            dense_view(passing_[static_cast<std::size_t>(turn_k_++) % passing_.size()],
                       {part(k).size(), part(j).size()}, DType::f64);
        step.reads.push_back({k_store_, box_of_k(k, j), view});
        rows.emplace_back(j, view);
      }
      for (i64 i = top_; i < bottom_; ++i) {
        add_subtract(std::move(step), i, k, rows);
        step = {};
      }
    }
  }
  // The group itself, from its last row.
  void add_group() {
    for (i64 i = bottom_ - 1; i >= top_; --i) {
      std::vector<std::pair<i64, BufferView>> rows;
      for (i64 j = std::max(i, left_); j < right_; ++j) rows.emplace_back(j, kept(i, j));
      if (rows.empty()) continue;
      Step step;
      const SquareOfC corner = read_c(i, i, step);
      for (const auto& [j, view] : rows) {
        step.uses.push_back(view.buffer);
        step.writes.push_back({k_store_, box_of_k(i, j), view});
      }
      step.compute = [a = a_, corner, rows, i](const Buffers& b) {
        const ShiftedBlock c = corner.block(b);
        for (const auto& [j, view] : rows) c.solve(a, b(view), i == j);
      };
      plan_.add_step(std::move(step));
      for (i64 above = top_; above < i; ++above) add_subtract({}, above, i, rows);
    }
  }
  // Row i of the group loses C[i, k] times those rows.
  void add_subtract(Step step, i64 i, i64 k, const std::vector<std::pair<i64, BufferView>>& rows) {
    const SquareOfC from = read_c(i, k, step);
    std::vector<std::pair<BufferView, BufferView>> terms;
    for (const auto& [j, view] : rows) {
      terms.emplace_back(view, kept(i, j));
      step.uses.push_back(view.buffer);
      step.uses.push_back(terms.back().second.buffer);
    }
    step.compute = [from, terms](const Buffers& b) {
      const ShiftedBlock c = from.block(b);
      for (const auto& [k, rest] : terms) c.subtract_product(b(k), b(rest));
    };
    plan_.add_step(std::move(step));
  }

  StreamPlan& plan_;
  FormSource c_;
  double a_;
  PropagatorCut cut_;
  i64 c_store_ = 0, k_store_ = 0, turn_ = 0, turn_k_ = 0;
  i64 left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;  // the squares of K that stay
  std::vector<Range> parts_;
  std::vector<i64> squares_of_c_, group_, passing_;
};

FormSource upper(const FormSource& c) { return c.transposed ? c.transpose() : c; }

}  // namespace

FormResult propagator_form(const FormSource& c, double a) {
  require<ArgumentError>(c.form == Form::triangular_bit || (c.form == Form::triangular && c.strict),
                         "compute_k: ", c.describe(), " is not known to be strictly triangular");
  require<ArgumentError>(!is_complex(c.element_dtype()), "compute_k: ", c.describe(),
                         " is complex, expected real numbers or bits");
  require<ArgumentError>(std::isfinite(a), "compute_k: a is ", a, "; expected a finite number");
  require<LinAlgError>(a != 0, "compute_k: a is 0, so aI + C is singular");
  return {Form::triangular, DType::f64, c.rows(), c.cols(), c.lower(), /*strict=*/true};
}

i64 propagator_side(const FormSource& c, const Options& options) {
  return c.rows() == 0 ? 1 : choose_propagator_cut(upper(c), options).side;
}

StreamPlan plan_propagator(const FormSource& c, double a, const StorePtr& out,
                           const Options& options) {
  const FormResult r = propagator_form(c, a);
  const store::TileGrid& grid = out->grid();
  require<ShapeError>(grid.shape() == r.stored_shape() && grid.dtype() == DType::f64,
                      "compute_k: the output is ", name(grid.dtype()), " of shape ", grid.shape(),
                      ", the result is float64 of shape ", r.stored_shape());
  require<IoError>(out->writable(), "compute_k: the output is read-only: ", out->describe());
  require<ArgumentError>(out != c.store, "compute_k: the output is the matrix itself");
  StreamPlan plan(cat("compute_k: ", c.describe(), ", float64"), options);
  if (r.rows == 0) return plan;
  // The transpose of K is that of the transposed C.
  const FormSource up = upper(c);
  // s C with a is C with a / s.
  PropagatorPlanner(plan, up, a / c.scale.as<double>(), out, choose_propagator_cut(up, options))
      .add_steps();
  return plan;
}

}  // namespace tessera::streaming
