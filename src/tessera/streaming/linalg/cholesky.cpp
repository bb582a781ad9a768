// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/cholesky.hpp"

#include <algorithm>

#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/streaming/linalg/blocks.hpp"
#include "tessera/streaming/linalg/strip_cut.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 piece_slots = 3, top_slots = 2;

// A panel of `width` columns: its square at the diagonal, and below it blocks of `pieces` pieces of
// `height` rows, over strips of L of `depth` columns.
struct CholeskyCut {
  i64 width = 1, height = 1, pieces = 1, depth = 1;

  i64 held(i64 n, i64 element) const {
    const i64 zero = matrix_bytes(1, 1, element), square = matrix_bytes(width, width, element);
    if (width >= n) return zero + square;
    return zero + square + pieces * matrix_bytes(height, width, element) +
           piece_slots * matrix_bytes(height, depth, element) +
           top_slots * matrix_bytes(width, depth, element);
  }
  // Numbers of L that are read.
  double traffic(i64 n) const {
    double sum = 0;
    for (i64 j = width; j < n; j += width) {
      const i64 below = std::max<i64>(0, n - j - width), block = pieces * height;
      const i64 blocks = std::max<i64>(1, (below + block - 1) / block);
      sum += static_cast<double>(j) * static_cast<double>(below + blocks * width);
    }
    return sum;
  }
};

CholeskyCut choose_cholesky_cut(i64 n, i64 element, i64 tile, const Options& options) {
  const i64 budget = budget_of(options);
  CholeskyCut best;
  require_budget("cholesky", options, best.held(n, element));
  const auto cost = [&](const CholeskyCut& c) {
    const double all = static_cast<double>(n) * static_cast<double>(n);
    return (all + c.traffic(n) * strip_cost(c.depth, tile, element)) *
           (1 + 8 / static_cast<double>(c.width));
  };
  double least = cost(best);
  for (i64 parts = 1; parts <= n; parts += 1 + parts / 8)
    for (const i64 depth : strip_widths(n, tile)) {
      CholeskyCut c{.width = (n + parts - 1) / parts, .pieces = 0, .depth = depth};
      c.height = (c.width + 1) / 2;
      if (c.width < n) {
        const i64 most = (n - c.width + c.height - 1) / c.height;
        c.pieces = std::min(
            most, (budget - c.held(n, element)) / matrix_bytes(c.height, c.width, element));
        if (c.pieces < 1) continue;
      }
      if (c.held(n, element) > budget) continue;
      if (const double now = cost(c); now < least) {
        least = now;
        best = c;
      }
      if (c.width == n) break;  // no strip passes
    }
  return best;
}

class CholeskySteps {
 public:
  CholeskySteps(StreamPlan& plan, i64 n, DType dtype, bool upper, const CholeskyCut& cut)
      : plan_(plan), n_(n), dtype_(dtype), upper_(upper), cut_(cut) {
    const i64 e = size_of(dtype);
    zero_ = plan.add_buffer(e);
    square_ = plan.add_buffer(cut.width * cut.width * e);
    if (cut.width >= n) return;
    for (i64 k = 0; k < cut.pieces; ++k)
      rows_.push_back(plan.add_buffer(cut.height * cut.width * e));
    for (i64 k = 0; k < piece_slots; ++k)
      pieces_.push_back(plan.add_buffer(cut.height * cut.depth * e));
    for (i64 k = 0; k < top_slots; ++k) tops_.push_back(plan.add_buffer(cut.width * cut.depth * e));
  }

  void add() {
    for (i64 j = 0; j < n_; j += cut_.width) {
      const Range columns{j, std::min(n_, j + cut_.width)};
      const i64 block = std::max<i64>(1, cut_.pieces * cut_.height);
      for (i64 r = columns.end; r == columns.end || r < n_; r += block)
        add_block(columns, {r, std::min(n_, r + block)}, r == columns.end);
    }
  }

 private:
  static constexpr i64 from = 0, to = 1;  // the stores

  // Rows and columns of the lower triangle, by rows in the buffer. Of an upper one the box is
  // turned: that factors the conjugate of A, whose factor's transpose is U.
  Move move(i64 store, const Range& rows, const Range& columns, i64 buffer) const {
    Move m{store,
           {{rows.begin, columns.begin}, {rows.size(), columns.size()}},
           dense_view(buffer, {rows.size(), columns.size()}, dtype_)};
    if (upper_) {
      std::swap(m.box.begin[0], m.box.begin[1]);
      std::swap(m.box.shape[0], m.box.shape[1]);
      m.view.layout.shape = m.box.shape;
      m.view.layout.strides = {1, columns.size()};
    }
    return m;
  }
  std::vector<Range> pieces_of(const Range& rows) const {
    std::vector<Range> out;
    for (i64 r = rows.begin; r < rows.end; r += cut_.height)
      out.push_back({r, std::min(rows.end, r + cut_.height)});
    return out;
  }

  // A block can be repeated as long as L is there: the square is needed from the second on.
  void let_restart(Step& step, const Range& columns, bool is_first) const {
    step.restarts = true;
    if (!is_first) step.restores.push_back(move(to, columns, columns, square_));
  }

  // What stays: rows below the square at the diagonal, and the square itself with the first.
  void add_block(const Range& columns, const Range& rows, bool is_first) {
    const std::vector<Range> pieces = pieces_of(rows);
    for (i64 k = 0; k < columns.begin; k += cut_.depth) {
      const Range strip{k, std::min(columns.begin, k + cut_.depth)};
      const i64 top = tops_[next_top_++ % tops_.size()];
      add_top(columns, strip, top, is_first);
      for (std::size_t p = 0; p < pieces.size(); ++p)
        add_piece(columns, strip, pieces[p], rows_[p], top);
    }
    if (is_first) add_square(columns);
    for (std::size_t p = 0; p < pieces.size(); ++p)
      add_solve(columns, pieces[p], rows_[p], columns.begin == 0 && p == 0 && !is_first);
  }

  void add_top(const Range& columns, const Range& strip, i64 top, bool is_first) {
    Step step;
    step.reads.push_back(move(to, columns, strip, top));
    if (strip.begin == 0) let_restart(step, columns, is_first);
    if (is_first) {
      if (strip.begin == 0) step.reads.push_back(move(from, columns, columns, square_));
      step.uses.push_back(square_);
      step.compute = [=, t = dtype_, square = square_](const Buffers& b) {
        herk_lower(t, columns.size(), strip.size(), b.at<std::byte>(top), strip.size(),
                   b.at<std::byte>(square), columns.size());
      };
    }
    plan_.add_step(std::move(step));
  }

  void add_piece(const Range& columns, const Range& strip, const Range& rows, i64 into, i64 top) {
    const i64 piece = pieces_[next_piece_++ % pieces_.size()];
    Step step;
    step.reads.push_back(move(to, rows, strip, piece));
    if (strip.begin == 0) step.reads.push_back(move(from, rows, columns, into));
    step.uses = {into, top};
    step.compute = [=, t = dtype_](const Buffers& b) {
      gemm(t, rows.size(), columns.size(), strip.size(), {-1, 0},
           {b.at<std::byte>(piece), strip.size()}, {b.at<std::byte>(top), strip.size(), true, true},
           {1, 0}, b.at<std::byte>(into), columns.size());
    };
    plan_.add_step(std::move(step));
  }

  void add_square(const Range& columns) {
    Step step;
    if (columns.begin == 0) step.reads.push_back(move(from, columns, columns, square_));
    step.uses = {square_, zero_};
    step.compute = [=, t = dtype_, square = square_, zero = zero_](const Buffers& b) {
      std::fill_n(b.at<std::byte>(zero), size_of(t), std::byte{0});
      const i64 minor = cholesky_block(t, columns.size(), b.at<std::byte>(square), columns.size());
      if (minor != 0)
        throw LinAlgError(cat("cholesky: Matrix is not positive definite: leading minor of order ",
                              columns.begin + minor));
    };
    step.writes.push_back(move(to, columns, columns, square_));
    if (columns.end < n_) {
      Move above = move(to, columns, {columns.end, n_}, zero_);
      above.view.layout.strides = Strides(2, 0);
      step.writes.push_back(std::move(above));
    }
    plan_.add_step(std::move(step));
  }

  void add_solve(const Range& columns, const Range& rows, i64 into, bool begins_block) {
    Step step;
    if (begins_block) let_restart(step, columns, false);
    if (columns.begin == 0) step.reads.push_back(move(from, rows, columns, into));
    step.uses = {into, square_};
    step.compute = [=, t = dtype_, square = square_](const Buffers& b) {
      solve_right(t, rows.size(), columns.size(),
                  {b.at<std::byte>(square), columns.size(), true, false, Turn::adjoint},
                  b.at<std::byte>(into), columns.size());
    };
    step.writes.push_back(move(to, rows, columns, into));
    plan_.add_step(std::move(step));
  }

  StreamPlan& plan_;
  i64 n_;
  DType dtype_;
  bool upper_;
  CholeskyCut cut_;
  i64 zero_ = 0, square_ = 0;
  std::vector<i64> rows_, pieces_, tops_;
  std::size_t next_top_ = 0, next_piece_ = 0;
};

}  // namespace

StreamPlan plan_cholesky(const StorePtr& a, const StorePtr& l, const CholeskyOptions& what,
                         const Options& options) {
  const Shape& shape = a->grid().shape();
  require<ShapeError>(shape.size() == 2 && shape[0] == shape[1],
                      "cholesky: takes a square matrix, got a store of shape ", shape);
  require<ShapeError>(l->grid().shape() == shape, "cholesky: a matrix of shape ", shape,
                      " into a store of shape ", l->grid().shape(), ": the shapes do not match");
  const DType t = l->grid().dtype();
  require_blas("cholesky", t);
  require<DTypeError>(a->grid().dtype() == t, "cholesky: ", name(a->grid().dtype()), " into ",
                      name(t), ": one dtype for both");
  require<IoError>(l->writable(), "cholesky: the output is read-only: ", l->describe());
  require<ArgumentError>(l != a, "cholesky: the output is the matrix itself");
  StreamPlan plan(cat("cholesky: ", shape, ", ", name(t)), options);
  plan.add_store("A", a);
  plan.add_store(what.upper ? "U" : "L", l);
  const i64 n = shape[0];
  if (n == 0) return plan;
  const i64 tile = l->grid().tile_shape()[what.upper ? 0 : 1];
  const CholeskyCut cut = choose_cholesky_cut(n, size_of(t), tile, options);
  CholeskySteps(plan, n, t, what.upper, cut).add();
  plan.add_work({.op = Operation::cholesky, .dtype = t, .m = n});
  plan.add_note(cut.width >= n
                    ? std::string("all of A stays")
                    : cat("panels of ", cut.width, " columns stay, ", cut.pieces * cut.height,
                          " rows of them at a time; ", cut.depth, " columns of L pass at a time"));
  return plan;
}

}  // namespace tessera::streaming
