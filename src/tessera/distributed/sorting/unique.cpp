// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/unique.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tessera/distributed/exchange/sort_lines.hpp"
#include "tessera/distributed/sorting/exchange.hpp"
#include "tessera/distributed/sorting/redistribute.hpp"
#include "tessera/distributed/sorting/sample_splitters.hpp"
#include "tessera/distributed/sorting/unique_join.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/distinct.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

using LocalUnique = ::tessera::Unique;

// Positions in the flattened array of elements given by their positions in rank r's part.
Array global_positions(const Array& positions, const DNDarray& x, int r) {
  const i64 axis = *x.split();
  i64 inner = 1;
  for (i64 a = axis + 1; a < x.ndim(); ++a) inner *= x.shape(a);
  const i64 shift = x.part().begin(r) * inner, block = x.part().count(r) * inner;
  if (axis == 0 || block == 0) return ops::add(positions, Value(shift));
  const Array outer = ops::floor_divide(positions, Value(block));
  const Array gap = ops::multiply(outer, Value(x.shape(axis) * inner - block));
  return ops::add(ops::add(positions, gap), Value(shift));
}

// For every rank, positions of its part that came from there.
Array received_positions(const Array& received, const Routes& routes, const DNDarray& x) {
  const Array out = empty_dense(received.shape(), DType::i64, received.device());
  i64 begin = 0;
  for (int r = 0; r < x.comm().size(); ++r) {
    const i64 end = begin + routes.receives[to_index(r)];
    if (begin == end) continue;
    const Array piece = received.slice(0, begin, end).astype(DType::i64);
    out.slice(0, begin, end).copy_from(global_positions(piece, x, r));
    begin = end;
  }
  return out;
}

// Items that came, in order of the ranks. Where that is not the order of their positions (x is not
// split along its first axis), they are put in that order first, so that the first of equal items
// is the first of all.
Groups group(const Array& values, const Array& positions, const Array& counts, bool by_position) {
  const Array order = by_position ? tessera::argsort(positions) : Array();
  auto ordered = [&](const Array& a) { return by_position && a ? take(a, order, 0) : a; };
  const LocalUnique u = tessera::unique(ordered(values));
  Groups g;
  g.values = u.values;
  g.numbers = u.inverse;
  if (positions) g.positions = take(ordered(positions), u.index, 0);
  if (counts) {
    g.counts = zeros(u.values.shape(), DType::i64, values.device());
    add_at(g.counts, Index(u.inverse), ordered(counts));
  }
  if (by_position) g.numbers = take(u.inverse, tessera::argsort(order), 0);
  return g;
}

// The distinct values of x if they are few, found a piece at a time; else nothing. Local.
Array few_values(const Array& x, i64 few) {
  Array found = empty_dense({0}, x.dtype());
  const Array line = x.reshape({x.size()});
  const i64 step = std::max<i64>(1, few / 2);
  for (i64 begin = 0; begin < line.size() && found; begin += step) {
    const Array piece = line.slice(0, begin, std::min(begin + step, line.size()));
    found = tessera::distinct(concatenate(std::array{found, tessera::distinct(piece)}, 0));
    if (found.size() > few) found = Array();
  }
  return found;
}

// All items in order, each rank keeps the distinct ones of its share, in the memory of the share.
Array values_in_place(const DNDarray& x) {
  const Communicator& comm = x.comm();
  const Array items = x.local().reshape({x.local().size()});
  const Array all =
      bounded_sort(items, local_sizes(x), Partition::even(x.size(), comm.size()), comm);
  i64 kept = 0;
  constexpr i64 step = 1 << 16;
  for (i64 begin = 0; begin < all.size(); begin += step) {
    const i64 first = kept > 0 ? 1 : 0;  // the last one that was kept comes along
    const Array piece = all.slice(0, begin, std::min(begin + step, all.size()));
    const Array next =
        first ? concatenate(std::array{all.slice(0, kept - 1, kept), piece}, 0) : piece;
    const Array found = is_complex(x.dtype()) ? tessera::distinct(next) : without_repeats(next);
    const i64 end = kept + found.size() - first;
    all.slice(0, kept, end).copy_from(found.slice(0, first, found.size()));
    kept = end;
  }
  const Array values = all.slice(0, 0, kept);
  return 4 * kept >= 3 * all.size() ? values : values.copy();
}

LocalUnique local_unique(const Array& x, bool values_alone) {
  return values_alone ? LocalUnique{tessera::distinct(x), {}, {}, {}} : tessera::unique(x);
}

Unique unique_here(const DNDarray& x, const UniqueParts& parts) {
  const LocalUnique u = local_unique(x.local(), !parts.index && !parts.inverse && !parts.counts);
  const i64 n = u.values.size();
  Distribution line;
  if (x.split()) line = {0, Partition::even(n, 1)};
  auto made = [&](bool wanted, const Array& a) {
    return wanted ? DNDarray(a, {n}, line, x.comm()) : DNDarray();
  };
  Unique result{made(true, u.values), made(parts.index, u.index), {}, made(parts.counts, u.counts)};
  if (parts.inverse) result.inverse = DNDarray(u.inverse, x.shape(), x.distribution(), x.comm());
  return result;
}

// The groups of all ranks, without an inverse, and the number of this rank's first.
std::pair<Unique, i64> joined(const Groups& groups, const DNDarray& x, const UniqueParts& parts) {
  const Joined join = join_groups(groups, x);
  const Partition& part = join.part;
  const i64 skip = join.continued, size = groups.values.size();
  const Distribution line{0, part};
  auto made = [&](bool wanted, const Array& a) {
    return wanted ? DNDarray(a.slice(0, skip, size), {part.size()}, line, x.comm()) : DNDarray();
  };
  return {{made(true, groups.values),
           made(parts.index, groups.positions),
           {},
           made(parts.counts, groups.counts)},
          part.begin(x.comm().rank()) - skip};
}

// `mine`: what is distinct on this rank.
Unique unique_of(const DNDarray& x, const UniqueParts& parts, const LocalUnique& mine,
                 bool by_position) {
  const Communicator& comm = x.comm();
  const bool values_alone = !parts.index && !parts.inverse && !parts.counts && !by_position;
  std::vector<i64> found(to_index(comm.size()));
  const i64 n = mine.values.size();
  comm.allgather(&n, sizeof n, found.data());
  const std::vector<i64> extents = local_sizes(x);

  const i64 total = std::accumulate(found.begin(), found.end(), i64{0});
  const Partition even = Partition::even(total, comm.size());
  const auto targets = even.starts().subspan(1, to_index(comm.size()) - 1);
  const std::vector<i64> splitters = find_splitters(mine.values, found, targets, false, comm);
  const Routes routes = routes_of(pieces_of(splitters, n, comm.size()), comm, found);

  const DType travel = counting_type(extents);
  const DType count_travel = counting_type(*std::max_element(extents.begin(), extents.end()) + 1);
  const Array values = move_pieces(mine.values, routes, comm);
  Array positions, counts;
  if (by_position || parts.index)
    positions = received_positions(move_pieces(mine.index.astype(travel), routes, comm), routes, x);
  if (parts.counts) counts = move_pieces(mine.counts.astype(count_travel), routes, comm);
  const Groups groups = values_alone ? Groups{tessera::distinct(values), {}, {}, {}}
                                     : group(values, positions, counts, by_position);

  auto [result, first] = joined(groups, x, parts);
  if (parts.inverse) {
    const Array numbers = ops::add(groups.numbers, Value(first));
    const DType type = counting_type(result.values.size());
    const Array back = move_pieces(numbers.astype(type), routes.back(), comm);
    const Array inverse = take(back.astype(DType::i64), mine.inverse, 0);
    result.inverse = DNDarray(inverse, x.shape(), x.distribution(), comm);
  }
  return result;
}

bool is_much(const DNDarray& x) {
  const std::vector<i64> sizes = local_sizes(x);
  return x.device() == cpu &&
         *std::max_element(sizes.begin(), sizes.end()) * size_of(x.dtype()) >= MemoryBudget{}.from;
}

// Of an array of which copies would be too much: few distinct values travel alone.
Unique unique_values(const DNDarray& x) {
  const Communicator& comm = x.comm();
  const Array few = few_values(x.local(), MemoryBudget{}.gathered / size_of(x.dtype()) / 4);
  bool all_few = static_cast<bool>(few);
  comm.allreduce(&all_few, 1, DType::b1, Combine::logical_and);
  if (all_few) return unique_of(x, {false, false, false}, {few, {}, {}, {}}, false);
  return joined({values_in_place(x), {}, {}, {}}, x, {false, false, false}).first;
}

}  // namespace

Unique unique(const DNDarray& x, const UniqueParts& parts) {
  if (!x.distributed()) return unique_here(x, parts);
  // Positions decide between equal values that differ in their bits, unless ranks are in their
  // order.
  const bool by_position = !flat_in_place(x) && (parts.index || is_inexact(x.dtype()));
  const bool values_alone = !parts.index && !parts.inverse && !parts.counts && !by_position;
  if (values_alone && is_much(x)) return unique_values(x);
  const LocalUnique mine = local_unique(x.local(), values_alone);
  return unique_of(x, parts, mine, by_position);
}

}  // namespace tessera::dist
