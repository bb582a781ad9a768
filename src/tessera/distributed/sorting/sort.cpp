// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/sort.hpp"

#include <algorithm>

#include "tessera/base/axis_error.hpp"
#include "tessera/distributed/exchange/panels.hpp"
#include "tessera/distributed/exchange/sort_lines.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/distributed/sorting/bounded_argsort.hpp"
#include "tessera/distributed/sorting/exchange.hpp"
#include "tessera/distributed/sorting/redistribute.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

Array sort_local(const Array& x, i64 axis, bool positions) {
  return positions ? tessera::argsort(x, axis) : tessera::sort(x, axis);
}

Array sort_items(const Array& items, std::span<const i64> counts, const Partition& part,
                 bool positions, const Communicator& comm) {
  const i64 most = *std::max_element(counts.begin(), counts.end()) * size_of(items.dtype());
  if (items.device() == cpu && most >= MemoryBudget{}.from)
    return (positions ? bounded_argsort : bounded_sort)(items, counts, part, comm, {});
  const OrderWants wants{.values = !positions, .positions = positions};
  const Ordered o = order_items(items, counts, part, wants, comm);
  return positions ? o.positions : o.values;
}

// Whole lines come together, which is two trips but few messages. Positions travel as small as they
// can be.
void sort_lines(const DNDarray& x, const DNDarray& out, bool positions) {
  const i64 axis = *x.split();
  const DType travel = counting_type(x.shape(axis));
  by_panels(x, out, [&](const Array& lines, i64) {
    const Array sorted = sort_local(lines, axis, positions);
    return positions ? sorted.astype(travel) : sorted;
  });
}

// Along the split axis. Few lines: each keeps its distribution, and its elements travel once. From
// as many lines as ranks on, whole lines come together.
DNDarray sort_split(const DNDarray& x, bool positions) {
  const i64 axis = *x.split(), n = x.shape(axis);
  const Communicator& comm = x.comm();
  const DType dtype = positions ? DType::i64 : x.dtype();
  if (x.ndim() > 1 && x.shape(longest_other(x.shape(), axis)) >= comm.size()) {
    const DNDarray out(empty_dense(x.lshape(), dtype, x.device()), x.shape(), x.distribution(),
                       comm);
    sort_lines(x, out, positions);
    return out;
  }
  const Array lines = lines_of(x.local(), axis);
  const i64 number = lines.shape(1);
  Array sorted;
  if (number == 1) {
    const Array line = lines.select(1, 0);
    sorted = sort_items(line, x.part().counts(), x.part(), positions, comm).expand_dims(1);
  } else {
    sorted = Array::empty(lines.shape(), dtype, x.device());
    const Distribution distribution{0, x.part()};
    const Shape all{n, number};
    if (number >= comm.size())
      sort_lines(DNDarray(lines, all, distribution, comm),
                 DNDarray(sorted, all, distribution, comm), positions);
    else
      for (i64 j = 0; j < number; ++j)
        sorted.select(1, j).copy_from(
            sort_items(lines.select(1, j), x.part().counts(), x.part(), positions, comm));
  }
  return DNDarray(from_lines(sorted, x.lshape(), axis), x.shape(), x.distribution(), comm);
}

// Elements that compare equal are equal bit by bit, so that nobody sees which of them came first:
// no NaN and no negative zero on any rank.
bool equals_are_identical(const DNDarray& x) {
  if (!is_inexact(x.dtype())) return true;
  auto awkward = [](const Array& part) {
    const Array zero = ops::logical_and(ops::equal(part, 0.0), ops::signbit(part));
    return reduce(ReduceOp::any, ops::logical_or(zero, ops::isnan(part))).item().as<bool>();
  };
  const Array& local = x.local();
  bool found = awkward(local.real()) || (is_complex(x.dtype()) && awkward(local.imag()));
  x.comm().allreduce(&found, 1, DType::b1, Combine::logical_or);
  return !found;
}

DNDarray sort_flat(const DNDarray& x, bool positions) {
  if (x.distributed() && !positions && !flat_in_place(x) && equals_are_identical(x)) {
    const Distribution to = flat_distribution(x);
    const Array items = x.local().reshape({x.local().size()});
    const Array sorted = sort_items(items, local_sizes(x), to.part, false, x.comm());
    return DNDarray(sorted, {x.size()}, to, x.comm());
  }
  const DNDarray flat = ravel(x);
  return positions ? argsort(flat, 0) : sort(flat, 0);
}

DNDarray sorted(const DNDarray& x, std::optional<i64> axis, bool positions) {
  if (!axis) return sort_flat(x, positions);
  require<AxisError>(x.ndim() > 0, "axis ", *axis, " is out of bounds for array of dimension 0");
  const i64 along = normalize_axis(*axis, x.ndim(), "");
  if (x.distributed() && *x.split() == along) return sort_split(x, positions);
  return DNDarray(sort_local(x.local(), along, positions), x.shape(), x.distribution(), x.comm());
}

}  // namespace

DNDarray sort(const DNDarray& x, std::optional<i64> axis) { return sorted(x, axis, false); }
DNDarray argsort(const DNDarray& x, std::optional<i64> axis) { return sorted(x, axis, true); }

}  // namespace tessera::dist
