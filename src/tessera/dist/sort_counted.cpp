// SPDX-License-Identifier: Apache-2.0
// Note [cuts by counting]: bounds, the same on all ranks, divide the items into classes: those that
// equal a bound, and those between two. Counting tells in which class a target lies. A class of
// equal items is cut by rank and place. One of different items is narrowed by bounds from a sample
// of it until few are left in it; those are gathered, sorted, and cut by merge_cuts. Each bound is
// an item of the class, so that every round makes the class smaller.
#include "tessera/dist/sort_counted.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "tessera/dist/at.hpp"
#include "tessera/dist/sort_cuts.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr i64 counted_at_once = 1 << 16;  // items whose classes are held

// f(first place, items, classes) for block after block, until it says false.
template <class F>
void over_blocks(const Array& items, const Array& bounds, F&& f) {
  for (i64 begin = 0; begin < items.size(); begin += counted_at_once) {
    const Array block =
        items.slice(0, begin, std::min(begin + counted_at_once, items.size())).contiguous();
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

// Items of some classes in order of their places, each class by itself: all, or those with the
// numbers that are asked for. One reading of the items.
std::vector<Array> Counted::pick(const std::vector<i64>& numbers,
                                 const std::vector<std::vector<i64>>* which) const {
  struct Wanted {
    std::byte* to = nullptr;
    const i64* next = nullptr;
    const i64* end = nullptr;
    i64 seen = 0;
  };
  std::vector<Wanted> wanted(at(2 * bounds_.size() + 1));
  std::vector<Array> found;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const i64 count =
        which ? static_cast<i64>((*which)[k].size()) : counts_in(numbers[k])[at(comm_.rank())];
    found.push_back(empty_dense({count}, items_.dtype()));
    Wanted& w = wanted[at(numbers[k])];
    if (count > 0) w.to = bytes_of(found.back());
    if (which) w.next = (*which)[k].data(), w.end = w.next + count;
  }
  const std::size_t item = at(size_of(items_.dtype()));
  over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) {
      Wanted& w = wanted[c[i]];
      if (!w.to) continue;
      if (w.next) {
        if (w.next == w.end || *w.next != w.seen++) continue;
        ++w.next;
      }
      std::memcpy(w.to, bytes_of(block) + at(i) * item, item);
      w.to += item;
    }
    return true;
  });
  return found;
}

// Of each class some items of this rank, more of what it has more of; `sizes`: of all ranks.
std::vector<Array> Counted::samples_of(const std::vector<i64>& numbers,
                                       const std::vector<i64>& sizes) const {
  std::vector<std::vector<i64>> places;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const i64 mine = counts_in(numbers[k])[at(comm_.rank())];
    const double share = static_cast<double>(mine) / static_cast<double>(in_class(numbers[k]));
    places.push_back(
        scattered(mine, static_cast<i64>(std::ceil(static_cast<double>(sizes[k]) * share))));
  }
  if (bounds_.size() > 0) return pick(numbers, &places);
  const Array index = empty_dense({static_cast<i64>(places[0].size())}, DType::i64);
  std::copy(places[0].begin(), places[0].end(), index.host<i64>());
  return {take(items_, index, 0).contiguous()};
}

// Bounds where targets are thought to be, or on either side of it: by class, their places there
// from 0 to 1.
void Counted::add_bounds(const std::vector<std::pair<i64, double>>& wanted, bool either_side) {
  // Between two bounds that divide a class lie as many of its sample as tell their distance well.
  const i64 first = either_side ? bounded_.sample * comm_.size() : 0,
            each = either_side ? 0 : std::max<i64>(1, bounded_.sample / 256);
  std::vector<i64> numbers, sizes;
  for (const auto& [number, place] : wanted) {
    if (numbers.empty() || numbers.back() != number) {
      numbers.push_back(number);
      sizes.push_back(first + each);
    }
    sizes.back() += each;
  }
  const std::vector<Array> samples = samples_of(numbers, sizes);
  std::vector<Array> bounds{bounds_};
  for (std::size_t k = 0, c = 0; k < wanted.size(); ++c) {
    const i64 number = wanted[k].first;
    const Array sample = tessera::sort(together(samples[c], comm_));
    const i64 n = sample.size(),
              margin =
                  either_side ? 1 + static_cast<i64>(2 * std::sqrt(static_cast<double>(n))) : 0;
    for (; k < wanted.size() && wanted[k].first == number; ++k) {
      const i64 middle = static_cast<i64>(wanted[k].second * static_cast<double>(n));
      for (const i64 place : {middle - margin, middle + margin}) {
        const i64 i = std::clamp<i64>(place, 0, n - 1);
        bounds.push_back(sample.slice(0, i, i + 1));
      }
    }
  }
  bounds_ = in_order(concatenate(bounds, 0)).contiguous();
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
    add_bounds(wanted, true);
    count();
  }
}

// Items of this rank before the class.
i64 Counted::mine_before(i64 number) const {
  const std::size_t kinds = at(2 * bounds_.size() + 1), me = at(comm_.rank());
  const i64* const first = found_.data() + me * kinds;
  return std::accumulate(first, first + std::min(at(number), kinds), i64{0});
}

// Cuts of a class of equal items.
void Counted::cut_equals(const Class& c, std::span<const i64> inside,
                         std::vector<CountedEdge>& edges) const {
  const std::vector<i64> counts = counts_in(c.number);
  const i64 ahead = std::accumulate(counts.begin(), counts.begin() + comm_.rank(), i64{0});
  for (const i64 t : inside) {
    const i64 equals = std::clamp<i64>(t - ahead, 0, counts[at(comm_.rank())]);
    edges.push_back({bound(c.number / 2), equals, mine_before(c.number) + equals, c.before + t});
  }
}

// Cuts of a class of few items: each lies before one of this rank's, or before the next bound.
void Counted::cut_few(const Class& c, const Array& sorted, std::span<const i64> inside,
                      std::vector<CountedEdge>& edges) const {
  const std::vector<i64> counts = counts_in(c.number);
  for (std::size_t k = 0; k < inside.size(); k += at(comm_.size())) {
    const auto some = inside.subspan(k, std::min(inside.size() - k, at(comm_.size())));
    const std::vector<i64> cuts = merge_cuts(sorted, counts, some, false, comm_);
    for (std::size_t j = 0; j < some.size(); ++j) {
      const i64 before = mine_before(c.number) + cuts[j], place = c.before + some[j];
      if (cuts[j] == sorted.size()) {
        edges.push_back({bound(c.number / 2), 0, before, place});
        continue;
      }
      const Array value = sorted.slice(0, cuts[j], cuts[j] + 1);
      const i64 smaller = searchsorted(sorted, value).select(0, 0).item().as<i64>();
      edges.push_back({value, cuts[j] - smaller, before, place});
    }
  }
}

// Targets of one class after those of another.
std::vector<Counted::Inside> Counted::by_class(std::span<const i64> targets) {
  refine(targets);
  std::vector<Inside> all;
  std::vector<i64> few;
  for (const i64 t : targets) {
    const Class c = class_of(t);
    if (all.empty() || all.back().c.number != c.number) {
      all.push_back({c, Array(), {}});
      if (c.number % 2 == 0 && c.number <= 2 * bounds_.size()) few.push_back(c.number);
    }
    all.back().targets.push_back(t - c.before);
  }
  if (few.empty()) return all;
  const std::vector<Array> found = pick(few, nullptr);
  std::size_t k = 0;
  for (Inside& i : all)
    if (k < few.size() && few[k] == i.c.number) i.sorted = tessera::sort(found[k++]);
  return all;
}

std::vector<CountedEdge> Counted::edges_at(std::span<const i64> targets) {
  std::vector<CountedEdge> edges;
  for (const Inside& i : by_class(targets))
    if (i.sorted)
      cut_few(i.c, i.sorted, i.targets, edges);
    else if (i.c.number > 2 * bounds_.size())
      edges.insert(edges.end(), i.targets.size(), CountedEdge{{}, 0, items_.size(), i.c.before});
    else
      cut_equals(i.c, i.targets, edges);
  return edges;
}

CountedCuts Counted::cuts_at(std::span<const CountedEdge> edges) const {
  CountedCuts result;
  std::vector<Array> values{empty_dense({0}, items_.dtype())};
  for (const CountedEdge& e : edges)
    if (e.value) values.push_back(e.value);
  result.bounds = in_order(concatenate(values, 0)).contiguous();
  for (const CountedEdge& e : edges) {
    i64 number = 2 * result.bounds.size() + 1;
    if (e.value) number = *classes(e.value.contiguous(), result.bounds).host<std::uint16_t>();
    if (e.place == 0) number = -1;  // before all
    CountedCuts::Cut cut{number, e.equals, e.before};
    // Where no item of this rank lies between two edges, the later one may have been named by a
    // smaller value: it is the earlier one then.
    if (!result.at.empty()) {
      const CountedCuts::Cut& last = result.at.back();
      if (std::pair(cut.bound, cut.equals) < std::pair(last.bound, last.equals)) cut = last;
    }
    result.at.push_back(cut);
  }
  return result;
}

// Classes of different items that are longer get bounds at even distances, until none is.
void Counted::narrow(i64 longest) {
  for (;;) {
    std::vector<std::pair<i64, double>> wanted;
    for (i64 number = 0; number <= 2 * bounds_.size(); number += 2) {
      // Twice as many as would do: samples are not exact.
      const i64 size = in_class(number), pieces = size > longest ? 2 * size / longest + 1 : 1;
      for (i64 k = 1; k < pieces; ++k)
        wanted.emplace_back(number, static_cast<double>(k) / static_cast<double>(pieces));
    }
    if (wanted.empty()) return;
    add_bounds(wanted, false);
    count();
  }
}

std::vector<CountedEdge> Counted::stretches(const Partition& part, i64 longest) {
  const auto starts = part.starts();
  std::vector<CountedEdge> ends = edges_at(starts.subspan(1, starts.size() - 2));
  ends.insert(ends.begin(), CountedEdge{{}, 0, 0, 0});
  ends.push_back({{}, 0, items_.size(), starts.back()});
  narrow(std::max<i64>(1, longest / 2));
  std::vector<CountedEdge> edges;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    edges.push_back(ends[k]);
    const i64 end = k + 1 < ends.size() ? ends[k + 1].place : 0;
    while (edges.back().place + longest < end) {
      const i64 target = edges.back().place + longest;
      const Class c = class_of(target);
      if (c.number % 2 == 1) {
        const i64 inside[] = {target - c.before};
        cut_equals(c, inside, edges);
      } else {  // behind the bound before the class
        const i64 equals = counts_in(c.number - 1)[at(comm_.rank())];
        edges.push_back({bound(c.number / 2 - 1), equals, mine_before(c.number), c.before});
      }
    }
  }
  return edges;
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
  std::vector<Array> found{empty_dense({0}, items_.dtype())};
  for (const Inside& i : by_class(places)) {
    if (i.sorted) {
      found.push_back(merged_items(i.sorted, counts_in(i.c.number), i.targets, comm_));
      continue;
    }
    for (const i64 t : i.targets) found.push_back(nth_of_class(i.c.number, t));
  }
  return concatenate(found, 0);
}

}  // namespace tessera::dist
