// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/topk.hpp"

#include <numeric>

#include "tessera/base/axis_error.hpp"
#include "tessera/distributed/exchange/sort_lines.hpp"
#include "tessera/distributed/sorting/exchange.hpp"
#include "tessera/distributed/sorting/sample_splitters.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/select.hpp"

namespace tessera::dist {
namespace {

using Candidates = Best;

// What is put in order at a time: the rest of a long axis waits, and needs no memory.
constexpr i64 items_at_once = 1 << 18;
constexpr i64 short_line = 64;

Candidates best(const Array& x, i64 k, i64 axis, bool largest);

// The best of each piece of the axis in its order, then the best of those: equal ones stay in the
// order of their indices.
Candidates best_of_pieces(const Array& x, i64 k, i64 axis, bool largest, i64 piece) {
  std::vector<Array> values, indices;
  for (i64 begin = 0; begin < x.shape(axis); begin += piece) {
    const Array some = x.slice(axis, begin, std::min(begin + piece, x.shape(axis)));
    const Candidates c = best(some, std::min(k, some.shape(axis)), axis, largest);
    values.push_back(c.values);
    indices.push_back(ops::add(c.indices, Value(begin)));
  }
  const Candidates chosen = best(concatenate(values, axis), k, axis, largest);
  return {chosen.values, take_along_axis(concatenate(indices, axis), chosen.indices, axis)};
}

Candidates best(const Array& x, i64 k, i64 axis, bool largest) {
  const i64 n = x.shape(axis);
  const i64 piece = std::max(4 * k, n == 0 ? 1 : items_at_once / std::max<i64>(1, x.size() / n));
  const bool many = k > 0 && n > 2 * piece;
  // Few of many need no order among the rest, and a short line is soon in order; lines that do not
  // lie densely are copied in pieces.
  if (x.device() == cpu && !is_complex(x.dtype()) && k > 0 && (4 * k <= n || n <= short_line) &&
      (!many || x.swap_axes(axis, -1).is_contiguous()))
    return best_entries(x, k, axis, largest);
  if (many) return best_of_pieces(x, k, axis, largest, piece);
  Array order = stable_order(x, axis, largest);
  if (k < order.shape(axis)) order = order.slice(axis, 0, k).copy();  // the rest may go
  return {take_along_axis(x, order, axis), order};
}

// Candidates lie in order of the ranks, so that equal ones are in order of their indices.
TopK topk_line(const DNDarray& x, i64 k, bool largest) {
  const Communicator& comm = x.comm();
  const std::vector<i64> extents = x.part().counts();
  std::vector<i64> counts = extents;
  for (i64& n : counts) n = std::min(n, k);
  const Candidates mine = best(x.local(), std::min(x.local().size(), k), 0, largest);
  const Distribution to{0, Partition::even(k, comm.size())};
  const OrderWants wants{
      .positions = true, .descending = largest, .given = mine.indices, .extents = extents};
  const Ordered o = order_items(mine.values, counts, to.part, wants, comm);
  return {DNDarray(o.values, {k}, to, comm), DNDarray(o.positions, {k}, to, comm)};
}

// Many lines: the candidates of a line come together on one rank, and the best of them go back.
TopK topk_lines(const DNDarray& x, i64 k, bool largest) {
  const Communicator& comm = x.comm();
  const i64 axis = *x.split();
  const DType travel = counting_type(x.shape(axis));
  std::vector<i64> counts = x.part().counts();
  for (i64& n : counts) n = std::min(n, k);
  const Array lines = lines_of(x.local(), axis);
  Candidates mine = best(lines, std::min(lines.shape(0), k), 0, largest);
  mine.indices = ops::add(mine.indices, Value(x.part().begin(comm.rank()))).astype(travel);

  const Partition from = Partition::of(counts);
  const Shape all{from.size(), lines.shape(1)}, some{k, lines.shape(1)};
  auto together = [&](const Array& a) { return DNDarray(a, all, {0, from}, comm).resplit(1); };
  const DNDarray values = together(mine.values), indices = together(mine.indices);
  const Candidates chosen = best(values.local(), k, 0, largest);
  const Array positions = take_along_axis(indices.local(), chosen.indices, 0);

  const Distribution to{axis, Partition::even(k, comm.size())};
  Shape shape = x.shape(), local = x.shape();
  shape[axis] = k;
  local[axis] = to.part.count(comm.rank());
  auto apart = [&](const Array& a) {
    const DNDarray rows =
        DNDarray(a, some, values.distribution(), comm).distributed_as({0, to.part});
    return from_lines(rows.local(), local, axis);
  };
  return {DNDarray(apart(chosen.values), shape, to, comm),
          DNDarray(apart(positions).astype(DType::i64), shape, to, comm)};
}

}  // namespace

TopK topk(const DNDarray& x, i64 k, i64 axis, bool largest) {
  require<AxisError>(x.ndim() > 0, "axis ", axis, " is out of bounds for array of dimension 0");
  const i64 along = normalize_axis(axis, x.ndim(), "");
  const i64 n = x.shape(along);
  require<ArgumentError>(k >= 0 && k <= n, "topk: k is ", k, ", expected 0 to ", n,
                         ", the extent of axis ", along, " of an array of shape ", x.shape());
  if (x.distributed() && *x.split() == along)
    return x.ndim() == 1 ? topk_line(x, k, largest) : topk_lines(x, k, largest);
  Shape shape = x.shape();
  shape[along] = k;
  Distribution distribution = x.distribution();
  if (distribution.split == along) distribution.part = Partition::even(k, x.comm().size());
  const Candidates found = best(x.local(), k, along, largest);
  return {DNDarray(found.values, shape, distribution, x.comm()),
          DNDarray(found.indices, shape, distribution, x.comm())};
}

}  // namespace tessera::dist
