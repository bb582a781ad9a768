// SPDX-License-Identifier: Apache-2.0
// Note [cuts by counting]: bounds, the same on all ranks, divide the items into classes: those that
// equal a bound, and those between two. Counting tells in which class a target lies. A class of
// equal items is cut by rank and place. One of different items is narrowed by bounds from a sample
// of it until few are left in it; those are gathered, sorted, and cut by merge_cuts. Each bound is
// an item of the class, so that every round makes the class smaller.
#include "tessera/dist/sort_counted.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tessera/dist/at.hpp"
#include "tessera/dist/sort_cuts.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/in_place.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr i64 at_once = 1 << 16;  // items whose classes are held

std::byte* bytes_of(const Array& a) { return static_cast<std::byte*>(a.host_data()); }

// f(first place, items, classes) for block after block, until it says false.
template <class F>
void over_blocks(const Array& items, const Array& bounds, F&& f) {
  for (i64 begin = 0; begin < items.size(); begin += at_once) {
    const Array block = items.slice(0, begin, std::min(begin + at_once, items.size())).contiguous();
    const Array found = classes(block, bounds);
    if (!f(begin, block, found.host<std::uint16_t>())) return;
  }
}

// Numbers below n, ascending, one from each of about `wanted` equal stretches, at no fixed
// distance: what repeats in the items does not repeat here.
std::vector<i64> scattered(i64 n, i64 wanted) {
  std::vector<i64> places;
  if (n == 0) return places;
  const i64 step = std::max<i64>(1, n / std::max<i64>(1, wanted));
  for (i64 begin = 0; begin < n; begin += step) {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(begin) + 1) * 0x9e3779b97f4a7c15u;
    const i64 length = std::min(step, n - begin);
    places.push_back(begin + static_cast<i64>((mixed >> 32) % static_cast<std::uint64_t>(length)));
  }
  return places;
}

// Blocks of all ranks, one behind the other.
Array together(const Array& mine, const Communicator& comm) {
  std::vector<i64> lengths(at(comm.size()));
  const i64 bytes = mine.bytes();
  comm.allgather(&bytes, sizeof bytes, lengths.data());
  const i64 all = std::accumulate(lengths.begin(), lengths.end(), i64{0});
  const Array result = empty_dense({all / size_of(mine.dtype())}, mine.dtype());
  comm.allgather(mine.host_data(), lengths, result.host_data());
  return result;
}

Array joined(const Array& a, const Array& b) { return concatenate(std::array{a, b}, 0); }

Array in_order(const Array& values) { return without_repeats(tessera::sort(values)); }

}  // namespace

Counted::Counted(const Array& items, std::span<const i64> counts, const Communicator& comm,
                 const Bounded& bounded)
    : items_(items),
      counts_(counts.begin(), counts.end()),
      comm_(comm),
      bounded_(bounded),
      bounds_(empty_dense({0}, items.dtype())),
      found_(counts_) {}

void Counted::count() {
  const std::size_t kinds = at(2 * bounds_.size() + 1);
  std::vector<i64> mine(kinds, 0);
  over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) ++mine[c[i]];
    return true;
  });
  found_.assign(kinds * counts_.size(), 0);
  comm_.allgather(mine.data(), static_cast<i64>(kinds * sizeof(i64)), found_.data());
}

std::vector<i64> Counted::counts_in(i64 number) const {
  const std::size_t kinds = at(2 * bounds_.size() + 1);
  std::vector<i64> counts;
  for (std::size_t r = 0; r < counts_.size(); ++r) counts.push_back(found_[r * kinds + at(number)]);
  return counts;
}

i64 Counted::in_class(i64 number) const {
  const std::vector<i64> counts = counts_in(number);
  return std::accumulate(counts.begin(), counts.end(), i64{0});
}

Counted::Class Counted::class_of(i64 target) const {
  const i64 kinds = 2 * bounds_.size() + 1;
  Class c{0, 0};
  for (; c.number < kinds; ++c.number) {
    const i64 size = in_class(c.number);
    if (target < c.before + size) break;
    c.before += size;
  }
  return c;
}

Array Counted::sample_of(i64 number) const {
  const std::vector<i64> counts = counts_in(number);
  const i64 most = *std::max_element(counts.begin(), counts.end()), mine = counts[at(comm_.rank())];
  const double share = static_cast<double>(mine) / static_cast<double>(most);
  const i64 wanted = static_cast<i64>(std::ceil(static_cast<double>(bounded_.sample) * share));
  const std::vector<i64> places = scattered(mine, wanted);
  const Array sample = empty_dense({static_cast<i64>(places.size())}, items_.dtype());
  if (bounds_.size() == 0) {
    const Array index = empty_dense(sample.shape(), DType::i64);
    std::copy(places.begin(), places.end(), index.host<i64>());
    return take(items_, index, 0).contiguous();
  }
  const std::size_t item = at(size_of(items_.dtype()));
  std::size_t next = 0;
  i64 seen = 0;
  over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) {
      if (c[i] != number) continue;
      if (next < places.size() && places[next] == seen)
        std::memcpy(bytes_of(sample) + next++ * item, bytes_of(block) + at(i) * item, item);
      ++seen;
    }
    return next < places.size();
  });
  return sample;
}

// Bounds on either side of where each target is thought to be: by class, its place there from 0
// to 1.
void Counted::add_bounds(const std::vector<std::pair<i64, double>>& wanted) {
  Array bounds = bounds_;
  for (std::size_t k = 0; k < wanted.size();) {
    const i64 number = wanted[k].first;
    const Array sample = tessera::sort(together(sample_of(number), comm_));
    const i64 n = sample.size(),
              margin = 1 + static_cast<i64>(2 * std::sqrt(static_cast<double>(n)));
    for (; k < wanted.size() && wanted[k].first == number; ++k) {
      const i64 middle = static_cast<i64>(wanted[k].second * static_cast<double>(n));
      for (const i64 place : {middle - margin, middle + margin}) {
        const i64 i = std::clamp<i64>(place, 0, n - 1);
        bounds = joined(bounds, sample.slice(0, i, i + 1));
      }
    }
  }
  bounds_ = in_order(bounds);
}

void Counted::refine(std::span<const i64> targets) {
  const i64 few = std::max<i64>(1, bounded_.gathered / size_of(items_.dtype()));
  for (;;) {
    std::vector<std::pair<i64, double>> wanted;
    for (const i64 t : targets) {
      const Class c = class_of(t);
      if (c.number > 2 * bounds_.size() || c.number % 2 == 1) continue;
      const std::vector<i64> counts = counts_in(c.number);
      if (*std::max_element(counts.begin(), counts.end()) <= few) continue;
      wanted.emplace_back(
          c.number, static_cast<double>(t - c.before) / static_cast<double>(in_class(c.number)));
    }
    if (wanted.empty()) return;
    add_bounds(wanted);
    count();
  }
}

Array Counted::gather_class(i64 number) const {
  const Array out = empty_dense({counts_in(number)[at(comm_.rank())]}, items_.dtype());
  const std::size_t item = at(size_of(items_.dtype()));
  std::byte* to = bytes_of(out);
  over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) {
      if (c[i] != number) continue;
      std::memcpy(to, bytes_of(block) + at(i) * item, item);
      to += item;
    }
    return true;
  });
  return tessera::sort(out);
}

// Items of this rank before the class.
i64 Counted::mine_before(i64 number) const {
  const std::size_t kinds = at(2 * bounds_.size() + 1), me = at(comm_.rank());
  const i64* const first = found_.data() + me * kinds;
  return std::accumulate(first, first + std::min(at(number), kinds), i64{0});
}

// Cuts of a class of equal items.
void Counted::cut_equals(const Class& c, std::span<const i64> inside,
                         std::vector<Edge>& edges) const {
  const std::vector<i64> counts = counts_in(c.number);
  const i64 ahead = std::accumulate(counts.begin(), counts.begin() + comm_.rank(), i64{0});
  for (const i64 t : inside) {
    const i64 equals = std::clamp<i64>(t - ahead, 0, counts[at(comm_.rank())]);
    edges.push_back({bound(c.number / 2), equals, mine_before(c.number) + equals});
  }
}

// Cuts of a class of few items: each lies before one of this rank's, or before the next bound.
void Counted::cut_few(const Class& c, std::span<const i64> inside, std::vector<Edge>& edges) const {
  const Array sorted = gather_class(c.number);
  const std::vector<i64> counts = counts_in(c.number);
  for (std::size_t k = 0; k < inside.size(); k += at(comm_.size())) {
    const auto some = inside.subspan(k, std::min(inside.size() - k, at(comm_.size())));
    for (const i64 cut : merge_cuts(sorted, counts, some, false, comm_)) {
      const i64 before = mine_before(c.number) + cut;
      if (cut == sorted.size()) {
        edges.push_back({bound(c.number / 2), 0, before});
        continue;
      }
      const Array value = sorted.slice(0, cut, cut + 1);
      const i64 smaller = searchsorted(sorted, value).select(0, 0).item().as<i64>();
      edges.push_back({value, cut - smaller, before});
    }
  }
}

CountedCuts Counted::cuts(std::span<const i64> targets) {
  refine(targets);
  std::vector<Edge> edges;
  for (std::size_t k = 0; k < targets.size();) {
    const Class c = class_of(targets[k]);
    std::vector<i64> inside;
    for (; k < targets.size() && class_of(targets[k]).number == c.number; ++k)
      inside.push_back(targets[k] - c.before);
    if (c.number > 2 * bounds_.size())
      edges.insert(edges.end(), inside.size(), Edge{{}, 0, items_.size()});
    else if (c.number % 2 == 1)
      cut_equals(c, inside, edges);
    else
      cut_few(c, inside, edges);
  }
  CountedCuts result;
  std::vector<Array> values{empty_dense({0}, items_.dtype())};
  for (const Edge& e : edges)
    if (e.value) values.push_back(e.value);
  result.bounds = in_order(concatenate(values, 0)).contiguous();
  for (const Edge& e : edges) {
    i64 number = 2 * result.bounds.size() + 1;
    if (e.value) number = *classes(e.value.contiguous(), result.bounds).host<std::uint16_t>();
    result.at.push_back({number, e.equals, e.before});
  }
  return result;
}

// Item n of a class of equal ones, in order of rank and place.
Array Counted::nth_of_class(i64 number, i64 n) const {
  const std::vector<i64> counts = counts_in(number);
  int owner = 0;
  while (n >= counts[at(owner)]) n -= counts[at(owner++)];
  const Array found = empty_dense({1}, items_.dtype());
  const std::size_t item = at(size_of(items_.dtype()));
  if (owner == comm_.rank())
    over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
      for (i64 i = 0; i < block.size() && n >= 0; ++i)
        if (c[i] == number && n-- == 0)
          std::memcpy(bytes_of(found), bytes_of(block) + at(i) * item, item);
      return n >= 0;
    });
  comm_.broadcast(found.host_data(), static_cast<i64>(item), owner);
  return found;
}

Array Counted::items_at(std::span<const i64> places) {
  refine(places);
  std::vector<Array> found{empty_dense({0}, items_.dtype())};
  for (std::size_t k = 0; k < places.size();) {
    const Class c = class_of(places[k]);
    if (c.number % 2 == 1) {
      found.push_back(nth_of_class(c.number, places[k++] - c.before));
      continue;
    }
    std::vector<i64> inside;
    for (; k < places.size() && class_of(places[k]).number == c.number; ++k)
      inside.push_back(places[k] - c.before);
    found.push_back(merged_items(gather_class(c.number), counts_in(c.number), inside, comm_));
  }
  return concatenate(found, 0);
}

namespace {

// Which rank an item goes to, by its class; equal items one after the other.
class Destinations {
 public:
  explicit Destinations(const CountedCuts& cuts)
      : cuts_(cuts.at), seen_(at(2 * cuts.bounds.size() + 1), 0) {
    for (std::size_t c = 0; c < seen_.size(); ++c) {
      std::size_t d = 0;
      while (d < cuts_.size() && cuts_[d].bound < static_cast<i64>(c)) ++d;
      first_.push_back(d);
      plain_.push_back(d == cuts_.size() || cuts_[d].bound != static_cast<i64>(c));
    }
  }
  std::size_t of(std::uint16_t c) {
    std::size_t d = first_[c];
    if (plain_[c]) return d;
    const i64 n = seen_[c]++;
    while (d < cuts_.size() && cuts_[d].bound == c && cuts_[d].equals <= n) ++d;
    return d;
  }

 private:
  const std::vector<CountedCuts::Cut>& cuts_;
  std::vector<i64> seen_;
  std::vector<std::size_t> first_;
  std::vector<std::uint8_t> plain_;
};

template <std::size_t bytes>
struct Item {
  std::byte data[bytes];
};

template <class F>
void with_item(i64 bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Item<1>{});
    case 2: return f(Item<2>{});
    case 4: return f(Item<4>{});
    case 8: return f(Item<8>{});
    default: return f(Item<16>{});
  }
}

// Items of one piece, put together by where they go; counts[q] of them go to rank q.
void sort_out(const Array& piece, const Array& bounds, Destinations& to, const Array& room,
              std::vector<i64>& counts) {
  const Array where = empty_dense(piece.shape(), DType::u16);
  std::uint16_t* const rank = where.host<std::uint16_t>();
  std::fill(counts.begin(), counts.end(), 0);
  over_blocks(piece, bounds, [&](i64 begin, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) {
      const std::size_t d = to.of(c[i]);
      ++counts[d];
      rank[begin + i] = static_cast<std::uint16_t>(d);
    }
    return true;
  });
  std::vector<i64> next(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, next.begin() + 1);
  with_item(size_of(piece.dtype()), [&]<class I>(const I&) {
    const I* const from = static_cast<const I*>(piece.host_data());
    I* const out = static_cast<I*>(room.host_data());
    const i64 step = piece.layout().strides[0];
    for (i64 i = 0; i < piece.size(); ++i) out[next[rank[i]]++] = from[i * step];
  });
}

}  // namespace

void deal_out(const Array& items, const CountedCuts& cuts, const Routes& routes, i64 most,
              const Array& to, const Communicator& comm, const Bounded& bounded) {
  const i64 item = size_of(items.dtype()), fit = std::max<i64>(1, bounded.piece / item);
  const std::size_t ranks = at(comm.size()), me = at(comm.rank());
  const Array room = empty_dense({std::min(fit, most)}, items.dtype());
  Destinations destinations(cuts);
  std::vector<i64> laid(ranks, 0), going(ranks), coming(ranks);
  std::partial_sum(routes.receives.begin(), routes.receives.end() - 1, laid.begin() + 1);
  for (i64 begin = 0; begin < most; begin += fit) {
    const i64 low = std::min(begin, items.size()), high = std::min(begin + fit, items.size());
    sort_out(items.slice(0, low, high), cuts.bounds, destinations, room, going);
    comm.alltoall(going.data(), sizeof(i64), coming.data());
    std::vector<Block> sends, receives;
    const std::byte* from = bytes_of(room);
    for (std::size_t q = 0; q < ranks; ++q) {
      std::byte* const place = bytes_of(to) + laid[q] * item;
      if (q == me)
        std::memcpy(place, from, at(going[q] * item));
      else {
        if (going[q] > 0) sends.push_back(Block::dense(static_cast<int>(q), from, going[q] * item));
        if (coming[q] > 0)
          receives.push_back(Block::dense(static_cast<int>(q), place, coming[q] * item));
      }
      from += going[q] * item;
      laid[q] += coming[q];
    }
    comm.exchange(sends, receives);
  }
}

Array sort_counted(const Array& items, std::span<const i64> counts, const Partition& part,
                   const Communicator& comm, const Bounded& bounded) {
  const Array sorted = empty_dense({part.count(comm.rank())}, items.dtype());
  Counted all(items, counts, comm, bounded);
  const CountedCuts cuts = all.cuts(part.starts().subspan(1, at(comm.size()) - 1));
  std::vector<i64> ends;
  for (const CountedCuts::Cut& c : cuts.at) ends.push_back(c.before);
  const Routes routes = routes_of(pieces_of(ends, items.size(), comm.size()), comm);
  const i64 most = *std::max_element(counts.begin(), counts.end());
  deal_out(items, cuts, routes, most, sorted, comm, bounded);
  sort_in_place(sorted, bounded.room);
  return sorted;
}

}  // namespace tessera::dist
