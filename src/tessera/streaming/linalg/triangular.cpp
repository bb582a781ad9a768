// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/triangular.hpp"

#include <algorithm>

#include "tessera/streaming/linalg/sweep.hpp"

namespace tessera::streaming {
namespace {

// `columns` of the right sides stay, squares of the triangle of `side` pass.
struct TriangularCut {
  i64 columns = 1, side = 1;

  i64 held(i64 n, i64 element) const {
    return matrix_bytes(n, columns, element) + chunk_slots * matrix_bytes(side, side, element);
  }
};

TriangularCut choose_triangular_cut(std::string_view who, i64 n, i64 m, i64 element, i64 tile,
                                    const Options& options) {
  const i64 budget = budget_of(options);
  TriangularCut best;
  require_budget(who, options, best.held(n, element));
  const auto cost = [&](const TriangularCut& c) {
    const i64 passes = (m + c.columns - 1) / c.columns;
    return static_cast<double>(passes) * strip_cost(c.side, tile, element);
  };
  for (const i64 side : strip_widths(n, tile)) {
    TriangularCut c{.columns = m, .side = side};
    const i64 left = budget - chunk_slots * matrix_bytes(side, side, element);
    if (left < matrix_bytes(n, m, element)) {
      c.columns = left / (n * element);
      while (c.columns > 0 && c.held(n, element) > budget) --c.columns;
    }
    if (c.columns < 1) continue;
    c.columns = equal_parts(m, c.columns);
    if (cost(c) < cost(best)) best = c;
  }
  return best;
}

StreamPlan plan_sweeps(std::string_view who, const StorePtr& t, const StorePtr& b,
                       const StorePtr& x, const std::vector<TriangularOptions>& sweeps,
                       const Options& options) {
  require_system(who, t, b, x);
  const i64 n = t->grid().shape()[0], m = columns_of_sides(b);
  const DType dtype = t->grid().dtype();
  StreamPlan plan(
      cat(who, ": ", t->grid().shape(), " with right sides ", b->grid().shape(), ", ", name(dtype)),
      options);
  const i64 triangle = plan.add_store("triangle", t), from = plan.add_store("B", b),
            to = plan.add_store("X", x);
  if (n == 0 || m == 0) return plan;
  const i64 element = size_of(dtype), tile = t->grid().tile_shape()[1];
  const TriangularCut cut = choose_triangular_cut(who, n, m, element, tile, options);
  const i64 buffer = plan.add_buffer(n * cut.columns * element);
  Sweep sweep{
      .who = who, .store = triangle, .dtype = dtype, .n = n, .strip = cut.side, .chunk = cut.side};
  for (i64 k = 0; k < chunk_slots; ++k)
    sweep.slots.push_back(plan.add_buffer(cut.side * cut.side * element));
  for (i64 c = 0; c < m; c += cut.columns) {
    const RightSide side = right_side(from, to, b, {c, std::min(m, c + cut.columns)}, buffer);
    for (std::size_t k = 0; k < sweeps.size(); ++k) {
      Step before;
      if (k == 0) before.reads.push_back(side.read);
      before.restarts = k == 0;
      sweep.lower = sweeps[k].lower;
      sweep.unit = sweeps[k].unit;
      sweep.turn = sweeps[k].turn;
      const bool is_last = k + 1 == sweeps.size();
      sweep.add(plan, {side}, std::move(before),
                is_last ? std::vector<Move>{side.write} : std::vector<Move>{});
    }
  }
  plan.add_work({.op = Operation::solve,
                 .dtype = dtype,
                 .m = n,
                 .n = m,
                 .batch = static_cast<i64>(sweeps.size()),
                 .triangular = true});
  plan.add_note(
      cat(cut.columns, " columns of B stay, squares of ", cut.side, " of the triangle pass"));
  return plan;
}

}  // namespace

void require_system(std::string_view who, const StorePtr& a, const StorePtr& b, const StorePtr& x) {
  const Shape &sa = a->grid().shape(), &sb = b->grid().shape();
  require<ShapeError>(sa.size() == 2 && sa[0] == sa[1], who,
                      ": takes a square matrix, got a store of shape ", sa);
  require<ShapeError>((sb.size() == 1 || sb.size() == 2) && sb[0] == sa[0], who,
                      ": a matrix of shape ", sa, " and right sides of shape ", sb,
                      ": the sizes do not match");
  require<ShapeError>(x->grid().shape() == sb, who, ": right sides of shape ", sb,
                      " into a store of shape ", x->grid().shape(), ": the shapes do not match");
  const DType t = a->grid().dtype();
  require_blas(who, t);
  require<DTypeError>(b->grid().dtype() == t && x->grid().dtype() == t, who, ": ", name(t),
                      " with right sides in ", name(b->grid().dtype()), " into ",
                      name(x->grid().dtype()), ": one dtype for all");
  require<IoError>(x->writable(), who, ": the output is read-only: ", x->describe());
  require<ArgumentError>(x != a && x != b, who, ": the output is one of the operands");
}

StreamPlan plan_solve_triangular(const StorePtr& t, const StorePtr& b, const StorePtr& x,
                                 const TriangularOptions& what, const Options& options) {
  return plan_sweeps("solve_triangular", t, b, x, {what}, options);
}

StreamPlan plan_cholesky_solve(const StorePtr& l, const StorePtr& b, const StorePtr& x, bool upper,
                               const Options& options) {
  TriangularOptions first{.lower = !upper}, second = first;
  (upper ? first : second).turn = Turn::adjoint;
  return plan_sweeps("cholesky_solve", l, b, x, {first, second}, options);
}

}  // namespace tessera::streaming
