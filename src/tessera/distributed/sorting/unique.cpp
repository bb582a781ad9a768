// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/unique.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "tessera/distributed/exchange/sort_lines.hpp"
#include "tessera/distributed/sorting/sort_cuts.hpp"
#include "tessera/distributed/sorting/sort_deal.hpp"
#include "tessera/distributed/sorting/sort_exchange.hpp"
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

// The ends of a rank's sorted block, which other ranks may continue.
struct Ends {
  i64 groups = 0;                           // distinct values in the block
  i64 first_count = 0, first_place = 0;     // of the first group
  std::byte first[16] = {}, last[16] = {};  // values
};

// The groups of a block: distinct values, where they occur first, how often.
struct Groups {
  Array values, places, counts;
  Array numbers;  // group of each item that came
};

// Places in the flattened array of elements given by their places in rank r's part.
Array global_places(const Array& places, const DNDarray& x, int r) {
  const i64 axis = *x.split();
  i64 inner = 1;
  for (i64 a = axis + 1; a < x.ndim(); ++a) inner *= x.shape(a);
  const i64 shift = x.part().begin(r) * inner, block = x.part().count(r) * inner;
  if (axis == 0 || block == 0) return ops::add(places, Value(shift));
  const Array outer = ops::floor_divide(places, Value(block));
  const Array gap = ops::multiply(outer, Value(x.shape(axis) * inner - block));
  return ops::add(ops::add(places, gap), Value(shift));
}

// For every rank, places of its part that came from there.
Array places_received(const Array& received, const Routes& routes, const DNDarray& x) {
  const Array out = empty_dense(received.shape(), DType::i64, received.device());
  i64 begin = 0;
  for (int r = 0; r < x.comm().size(); ++r) {
    const i64 end = begin + routes.receives[to_index(r)];
    if (begin == end) continue;
    const Array piece = received.slice(0, begin, end).astype(DType::i64);
    out.slice(0, begin, end).copy_from(global_places(piece, x, r));
    begin = end;
  }
  return out;
}

// Items that came, in order of the ranks. Where that is not the order of their places (x is not
// split along its first axis), they are put in that order first, so that the first of equal items
// is the first of all.
Groups group(const Array& values, const Array& places, const Array& counts, bool by_place) {
  const Array order = by_place ? tessera::argsort(places) : Array();
  auto ordered = [&](const Array& a) { return by_place && a ? take(a, order, 0) : a; };
  const LocalUnique u = tessera::unique(ordered(values));
  Groups g;
  g.values = u.values;
  g.numbers = u.inverse;
  if (places) g.places = take(ordered(places), u.index, 0);
  if (counts) {
    g.counts = zeros(u.values.shape(), DType::i64, values.device());
    add_at(g.counts, Index(u.inverse), ordered(counts));
  }
  if (by_place) g.numbers = take(u.inverse, tessera::argsort(order), 0);
  return g;
}

// NaNs are one value.
Array same_values(const Array& a, const Array& b) {
  const Array same = ops::equal(a, b);
  if (!is_inexact(a.dtype())) return same;
  return ops::logical_or(same, ops::logical_and(ops::isnan(a), ops::isnan(b)));
}

class Join {  // groups that run over the ends of blocks
 public:
  Join(const Groups& mine, const DNDarray& x) : mine_(mine), comm_(x.comm()), dtype_(x.dtype()) {
    Ends ends;
    ends.groups = mine.values.size();
    if (ends.groups > 0) {
      read(mine.values, 0, ends.first);
      read(mine.values, ends.groups - 1, ends.last);
      if (mine.places) ends.first_place = mine.places.select(0, 0).item().as<i64>();
      if (mine.counts) ends.first_count = mine.counts.select(0, 0).item().as<i64>();
    }
    all_.resize(to_index(comm_.size()));
    comm_.allgather(&ends, sizeof ends, all_.data());
    find_continued();
  }

  // Distinct values by the rank in whose block they begin.
  Partition part() const {
    std::vector<i64> kept;
    for (std::size_t r = 0; r < all_.size(); ++r) kept.push_back(all_[r].groups - continued_[r]);
    return Partition::of(kept);
  }
  bool continued() const { return continued_[to_index(comm_.rank())]; }

  // The last group of this rank takes in what follows of it on other ranks.
  void take_in() const {
    const std::size_t me = to_index(comm_.rank());
    const i64 last = all_[me].groups - 1;
    if (last < (continued_[me] ? 1 : 0)) return;
    std::vector<std::size_t> from;
    for (std::size_t r = me + 1; r < all_.size(); ++r) {
      if (all_[r].groups == 0) continue;
      if (!continued_[r]) break;
      from.push_back(r);
      if (all_[r].groups > 1) break;
    }
    if (from.empty()) return;
    if (mine_.counts) {
      i64 count = mine_.counts.select(0, last).item().as<i64>();
      for (std::size_t r : from) count += all_[r].first_count;
      mine_.counts.select(0, last).fill(Value(count));
    }
    if (mine_.places) choose_first(from, last);
  }

 private:
  void read(const Array& values, i64 i, std::byte* to) const {
    const Array one = values.select(0, i).to(cpu).contiguous();
    std::memcpy(to, one.host_data(), to_index(size_of(dtype_)));
  }
  Array array_of(const std::vector<const std::byte*>& values) const {
    const Array a = empty_dense({static_cast<i64>(values.size())}, dtype_);
    std::byte* to = static_cast<std::byte*>(a.host_data());
    for (const std::byte* v : values) {
      std::memcpy(to, v, to_index(size_of(dtype_)));
      to += size_of(dtype_);
    }
    return a;
  }

  // A block is continued from the one before it when it begins with the value that ends that one.
  void find_continued() {
    continued_.assign(all_.size(), false);
    std::vector<const std::byte*> lasts, firsts;
    std::vector<std::size_t> ranks;
    const Ends* before = nullptr;
    for (std::size_t r = 0; r < all_.size(); ++r) {
      if (all_[r].groups == 0) continue;
      if (before) {
        lasts.push_back(before->last);
        firsts.push_back(all_[r].first);
        ranks.push_back(r);
      }
      before = &all_[r];
    }
    if (ranks.empty()) return;
    const Array same = same_values(array_of(lasts), array_of(firsts)).contiguous();
    for (std::size_t k = 0; k < ranks.size(); ++k) continued_[ranks[k]] = same.host<bool>()[k];
  }

  // Of the equal values, the one that a sort of the whole array puts first: by value (NaNs of
  // complex numbers differ in order), then by place.
  void choose_first(const std::vector<std::size_t>& from, i64 last) const {
    std::byte own[16];
    read(mine_.values, last, own);
    std::vector<std::pair<i64, const std::byte*>> found{
        {mine_.places.select(0, last).item().as<i64>(), own}};
    for (std::size_t r : from) found.emplace_back(all_[r].first_place, all_[r].first);
    std::sort(found.begin(), found.end());
    std::vector<const std::byte*> values;
    values.reserve(found.size());
    for (const auto& f : found) values.push_back(f.second);
    const Array all = array_of(values);
    const i64 best = tessera::argsort(all).select(0, 0).item().as<i64>();
    mine_.values.select(0, last).copy_from(all.select(0, best).to(mine_.values.device()));
    mine_.places.select(0, last).fill(Value(found[to_index(best)].first));
  }

  const Groups& mine_;
  const Communicator& comm_;
  DType dtype_;
  std::vector<Ends> all_;
  std::vector<bool> continued_;
};

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
      sort_counted(items, local_sizes(x), Partition::even(x.size(), comm.size()), comm);
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
  const Join join(groups, x);
  join.take_in();
  const Partition part = join.part();
  const i64 skip = join.continued(), size = groups.values.size();
  const Distribution line{0, part};
  auto made = [&](bool wanted, const Array& a) {
    return wanted ? DNDarray(a.slice(0, skip, size), {part.size()}, line, x.comm()) : DNDarray();
  };
  return {{made(true, groups.values),
           made(parts.index, groups.places),
           {},
           made(parts.counts, groups.counts)},
          part.begin(x.comm().rank()) - skip};
}

// `mine`: what is distinct on this rank.
Unique unique_of(const DNDarray& x, const UniqueParts& parts, const LocalUnique& mine,
                 bool by_place) {
  const Communicator& comm = x.comm();
  const bool values_alone = !parts.index && !parts.inverse && !parts.counts && !by_place;
  std::vector<i64> found(to_index(comm.size()));
  const i64 n = mine.values.size();
  comm.allgather(&n, sizeof n, found.data());
  const std::vector<i64> extents = local_sizes(x);

  const i64 total = std::accumulate(found.begin(), found.end(), i64{0});
  const Partition even = Partition::even(total, comm.size());
  const auto targets = even.starts().subspan(1, to_index(comm.size()) - 1);
  const std::vector<i64> cuts = merge_cuts(mine.values, found, targets, false, comm);
  const Routes routes = routes_of(pieces_of(cuts, n, comm.size()), comm, found);

  const DType travel = counting_type(extents);
  const DType count_travel = counting_type(*std::max_element(extents.begin(), extents.end()) + 1);
  const Array values = move_pieces(mine.values, routes, comm);
  Array places, counts;
  if (by_place || parts.index)
    places = places_received(move_pieces(mine.index.astype(travel), routes, comm), routes, x);
  if (parts.counts) counts = move_pieces(mine.counts.astype(count_travel), routes, comm);
  const Groups groups = values_alone ? Groups{tessera::distinct(values), {}, {}, {}}
                                     : group(values, places, counts, by_place);

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
         *std::max_element(sizes.begin(), sizes.end()) * size_of(x.dtype()) >= Bounded{}.from;
}

// Of an array of which copies would be too much: few distinct values travel alone.
Unique unique_values(const DNDarray& x) {
  const Communicator& comm = x.comm();
  const Array few = few_values(x.local(), Bounded{}.gathered / size_of(x.dtype()) / 4);
  bool all_few = static_cast<bool>(few);
  comm.allreduce(&all_few, 1, DType::b1, Combine::logical_and);
  if (all_few) return unique_of(x, {false, false, false}, {few, {}, {}, {}}, false);
  return joined({values_in_place(x), {}, {}, {}}, x, {false, false, false}).first;
}

}  // namespace

Unique unique(const DNDarray& x, const UniqueParts& parts) {
  if (!x.distributed()) return unique_here(x, parts);
  // Places decide between equal values that differ in their bits, unless ranks are in their order.
  const bool by_place = !flat_in_place(x) && (parts.index || is_inexact(x.dtype()));
  const bool values_alone = !parts.index && !parts.inverse && !parts.counts && !by_place;
  if (values_alone && is_much(x)) return unique_values(x);
  const LocalUnique mine = local_unique(x.local(), values_alone);
  return unique_of(x, parts, mine, by_place);
}

}  // namespace tessera::dist
