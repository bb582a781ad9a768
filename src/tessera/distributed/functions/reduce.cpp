// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/reduce.hpp"

#include <algorithm>
#include <limits>

#include "tessera/distributed/array/axis_list.hpp"
#include "tessera/distributed/exchange/over_ranks.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera::dist {
namespace {

// What a reduction does to axes and distribution, before anything is computed.
struct Outcome {
  Axes axes;                  // normalized, as given
  Shape kept;                 // the result with the reduced axes at size 1
  Shape shape;                // the result
  Distribution distribution;  // of the result
  bool joins = false;         // the split axis is reduced
};

Outcome outcome_of(std::string_view who, const DNDarray& x, const std::optional<Axes>& axes,
                   bool keepdims) {
  Outcome o;
  const i64 n = axes ? axes->size() : x.ndim();
  for (i64 i = 0; i < n; ++i) {
    const i64 a = axes ? normalize_axis((*axes)[i], x.ndim(), who) : i;
    require<ArgumentError>(!contains(o.axes, a), "duplicate value in 'axis'");
    o.axes.push_back(a);
  }
  o.kept = x.shape();
  for (i64 a : o.axes) o.kept[a] = 1;
  o.joins = x.split() && contains(o.axes, *x.split());
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (x.split() == a && !o.joins) o.distribution = {o.shape.size(), x.part()};
    if (keepdims || !contains(o.axes, a)) o.shape.push_back(o.kept[a]);
  }
  return o;
}

i64 reduced_count(const DNDarray& x, const Axes& axes) {
  i64 n = 1;
  for (i64 a : axes) n *= x.shape(a);
  return n;
}

DType at_least_single(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

bool is_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

// How partial results are joined.
ReduceOp joiner(ReduceOp op) {
  switch (op) {
    case ReduceOp::count_nonzero:
    case ReduceOp::sum_abs2:
    case ReduceOp::vdot: return ReduceOp::sum;
    default: return op;
  }
}

Array along_ranks(ReduceOp op, const Array& stacked) {
  return tessera::reduce(
      op, stacked, Axes{0}, false,
      op == ReduceOp::sum || op == ReduceOp::prod ? std::optional(stacked.dtype()) : std::nullopt);
}

// The errors, and the dtype, of the local function: it is asked with one element, or none where an
// axis has none.
DType asked_dtype(ReduceOp op, const DNDarray& x, const Axes& axes, std::optional<DType> dtype) {
  Shape small = x.shape();
  for (i64& n : small) n = std::min<i64>(n, 1);
  return tessera::reduce(op, stand_in(small, x.dtype()), axes, true, dtype).dtype();
}

// A local position over the reduced axes as the position in the whole array: the split axis has an
// offset, and another length for the axes before it.
Array global_positions(const Array& local, const DNDarray& x, const Axes& axes) {
  const i64 split = *x.split(), rank = x.comm().rank();
  const i64 mine = x.part().count(static_cast<int>(rank)), length = x.shape(split);
  const i64 start = x.part().begin(static_cast<int>(rank));
  i64 inner = 1, outer = 1;
  for (i64 a : axes) {
    if (a > split) inner *= x.shape(a);
    if (a < split) outer *= x.shape(a);
  }
  const Array shifted = ops::add(local, Value(start * inner));
  if (outer == 1 || mine == 0) return shifted;
  const Array before = ops::floor_divide(local, Value(mine * inner));
  return ops::add(shifted, ops::multiply(before, Value((length - mine) * inner)));
}

// The first of the best, where a NaN is better than any number: local positions are the first of
// their part, so the lowest of those that hold the best value wins.
Arrays first_best(ReduceOp op, const Arrays& stacked) {
  const Array &values = stacked[0], &positions = stacked[1];
  const Array best = tessera::reduce(op == ReduceOp::argmax ? ReduceOp::max : ReduceOp::min, values,
                                     Axes{0}, true);
  Array hit = ops::equal(values, best);
  if (is_inexact(values.dtype())) hit = ops::logical_or(hit, ops::isnan(values));
  // Where the best is no NaN, none of the values is.
  const Array last = Array::scalar(Value(std::numeric_limits<i64>::max()), DType::i64);
  return {tessera::reduce(ReduceOp::min, ops::where(hit, positions, last), Axes{0})};
}

bool has_entries(const DNDarray& x) { return x.part().count(x.comm().rank()) > 0; }

Array joined_positions(ReduceOp op, const DNDarray& x, const Outcome& o) {
  Arrays mine{Array::empty(o.kept, x.dtype(), x.device()),
              Array::empty(o.kept, DType::i64, x.device())};
  if (has_entries(x)) {
    const ReduceOp extremum = op == ReduceOp::argmax ? ReduceOp::max : ReduceOp::min;
    mine[0] = tessera::reduce(extremum, x.local(), o.axes, true);
    mine[1] = global_positions(tessera::reduce(op, x.local(), o.axes, true), x, o.axes);
  }
  return fold_ranks(x.comm(), mine, ranks_with_entries(x),
                    [op](const Arrays& all) { return first_best(op, all); })[0];
}

// Of this rank's part, in the dtype in which the parts are joined.
Array partial(ReduceOp op, const DNDarray& x, const Outcome& o, DType work) {
  const Array out = Array::empty(o.kept, work, x.device());
  if (!has_entries(x)) return out;
  const ReduceSpec spec{.op = op, .in = operand_of(x.local()), .in2 = {}, .out = operand_of(out)};
  launch_now(&KernelTable::reduce, name(op), spec, x.device(), {&x.local(), &out});
  return out;
}

// Parts without entries have no say: sums would not change, extrema of nothing are none.
Array joined_values(ReduceOp op, const DNDarray& x, const Outcome& o, DType work) {
  return fold_ranks(x.comm(), {partial(op, x, o, work)}, ranks_with_entries(x),
                    [op](const Arrays& all) { return Arrays{along_ranks(joiner(op), all[0])}; })[0];
}

DNDarray wrapped(const Array& result, const Outcome& o, const DNDarray& x) {
  return DNDarray(result, o.shape, o.distribution, x.comm());
}

// The partial results of the ranks are needed: there is more than one, and something in them.
bool must_join(const DNDarray& x, const Outcome& o) {
  return o.joins && x.comm().size() > 1 && x.shape(*x.split()) > 0 && count_of(o.kept) > 0;
}

DType mean_work(DType t) { return is_inexact(t) ? at_least_single(t) : DType::f64; }
DType mean_result(DType t) { return is_inexact(t) ? t : DType::f64; }

// Number, mean and sum of squares of the deviations of the parts: those of the whole.
Arrays joined_moments(const Arrays& stacked, const Array& counts, double total) {
  const Array &means = stacked[0], &squares = stacked[1];
  const Array weights = counts.astype(real_of(means.dtype()));
  const Array centre =
      ops::divide(along_ranks(ReduceOp::sum, ops::multiply(means, weights)), Value(total));
  const Array apart = ops::abs2(ops::subtract(means, centre));
  return {ops::add(along_ranks(ReduceOp::sum, squares),
                   along_ranks(ReduceOp::sum, ops::multiply(apart, weights)))};
}

Array joined_squares(const DNDarray& x, const Outcome& o, DType work) {
  Arrays mine{Array::empty(o.kept, work, x.device()),
              Array::empty(o.kept, real_of(work), x.device())};
  if (has_entries(x)) {
    const Array wide = x.local().astype(work);
    mine[0] = tessera::mean(wide, o.axes, true);
    mine[1] = tessera::reduce(ReduceOp::sum_abs2, ops::subtract(wide, mine[0]), o.axes, true);
  }
  const std::vector<int> ranks = ranks_with_entries(x);
  const i64 n = reduced_count(x, o.axes), across = n / x.shape(*x.split());
  const Array counts = Array::empty({static_cast<i64>(ranks.size()), 1}, DType::f64);
  for (i64 k = 0; k < counts.size(); ++k)
    counts.select(0, k).fill(
        Value(static_cast<double>(x.part().count(ranks[static_cast<std::size_t>(k)]) * across)));
  return fold_ranks(x.comm(), mine, ranks, [&](const Arrays& all) {
    return joined_moments(all, counts, static_cast<double>(n));
  })[0];
}

}  // namespace

std::vector<int> ranks_with_entries(const DNDarray& x) {
  std::vector<int> ranks;
  for (int r = 0; r < x.part().ranks(); ++r)
    if (x.part().count(r) > 0) ranks.push_back(r);
  return ranks;
}

DNDarray reduce(ReduceOp op, const DNDarray& x, const std::optional<Axes>& axes, bool keepdims,
                std::optional<DType> dtype) {
  require<ArgumentError>(op != ReduceOp::vdot, "reduce: vdot takes two arrays; call vdot(a, b)");
  const Outcome o = outcome_of(name(op), x, axes, keepdims);
  const DType result = asked_dtype(op, x, o.axes, dtype);
  if (o.joins && count_of(o.kept) == 0)  // parts may have no entries where the whole has some
    return wrapped(Array::empty(o.shape, result, x.device()), o, x);
  if (!must_join(x, o))
    return wrapped(tessera::reduce(op, x.local(), o.axes, keepdims, dtype), o, x);
  if (is_position(op))
    return wrapped(joined_positions(op, x, o).reshape(o.shape).astype(result), o, x);
  const bool sums = op == ReduceOp::sum || op == ReduceOp::prod;
  const DType own = sums ? result : reduce_dtype(op, x.dtype());
  const bool rounds = sums || op == ReduceOp::sum_abs2;
  const Array joined = joined_values(op, x, o, rounds ? at_least_single(own) : own);
  return wrapped(joined.astype(own).reshape(o.shape).astype(result), o, x);
}

DNDarray mean(const DNDarray& x, const std::optional<Axes>& axes, bool keepdims) {
  const i64 n = reduced_count(x, outcome_of("mean", x, axes, keepdims).axes);
  const DNDarray total = reduce(ReduceOp::sum, x, axes, keepdims, mean_work(x.dtype()));
  return divide(total, Value(static_cast<double>(n))).astype(mean_result(x.dtype()));
}

DNDarray variance(const DNDarray& x, const std::optional<Axes>& axes, i64 ddof, bool keepdims) {
  const Outcome o = outcome_of("var", x, axes, keepdims);
  if (!must_join(x, o)) return wrapped(tessera::variance(x.local(), o.axes, ddof, keepdims), o, x);
  const DType work = mean_work(x.dtype());
  const i64 n = reduced_count(x, o.axes);
  const double divisor = static_cast<double>(std::max<i64>(n - ddof, 0));
  const Array squares = joined_squares(x, o, work).reshape(o.shape);
  return wrapped(ops::divide(squares, Value(divisor)).astype(real_of(mean_result(x.dtype()))), o,
                 x);
}

DNDarray deviation(const DNDarray& x, const std::optional<Axes>& axes, i64 ddof, bool keepdims) {
  return sqrt(variance(x, axes, ddof, keepdims));
}

DNDarray vdot(const DNDarray& a, const DNDarray& b) {
  require_same_group("vdot", a, b);
  require<ShapeError>(a.size() == b.size(), "vdot: cannot pair ", a.size(), " elements of shape ",
                      a.shape(), " with ", b.size(), " of shape ", b.shape());
  if (!(a.shape() == b.shape())) return vdot(ravel(a), ravel(b));
  const Target to = elementwise_target(std::array<Operand, 2>{a, b});
  const Array x = part_for(a, to.shape, to.distribution),
              y = part_for(b, to.shape, to.distribution);
  const DType dtype = promote(a.dtype(), b.dtype()), work = at_least_single(dtype);
  const bool joins = to.distribution.split && a.comm().size() > 1 && a.size() > 0;
  const Array total = Array::empty(Shape(a.ndim(), 1), joins ? work : dtype, a.device());
  const ReduceSpec spec{
      .op = ReduceOp::vdot, .in = operand_of(x), .in2 = operand_of(y), .out = operand_of(total)};
  launch_now(&KernelTable::reduce, "vdot", spec, a.device(), {&x, &y, &total});
  if (!joins) return DNDarray::replicated(total.reshape({}), a.comm());
  const DNDarray like(x, to.shape, to.distribution, a.comm());
  const Array all = fold_ranks(
      a.comm(), {total.reshape({})}, ranks_with_entries(like),
      [](const Arrays& parts) { return Arrays{along_ranks(ReduceOp::sum, parts[0])}; })[0];
  return DNDarray::replicated(all.astype(dtype), a.comm());
}

DNDarray norm(const DNDarray& x, const std::optional<Axes>& axes, bool keepdims) {
  const DNDarray floats = is_inexact(x.dtype()) ? x : x.astype(DType::f64);
  return sqrt(reduce(ReduceOp::sum_abs2, floats, axes, keepdims));
}

}  // namespace tessera::dist
