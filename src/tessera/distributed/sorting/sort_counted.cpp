// SPDX-License-Identifier: Apache-2.0
// Note [cuts by counting]: bounds, the same on all ranks, divide the items into classes: those that
// equal a bound, and those between two. Counting tells in which class a target lies. A class of
// equal items is cut by rank and place. One of different items is narrowed by bounds from a sample
// of it until few are left in it; those are gathered, sorted, and cut by merge_cuts. Each bound is
// an item of the class, so that every round makes the class smaller.
#include "tessera/distributed/sorting/sort_counted.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tessera/distributed/sorting/sort_cuts.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
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
  const std::size_t kinds = to_index(2 * bounds_.size() + 1);
  std::vector<i64> mine(kinds, 0);
  over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) ++mine[c[i]];
    return true;
  });
  found_.assign(kinds * counts_.size(), 0);
  comm_.allgather(mine.data(), static_cast<i64>(kinds * sizeof(i64)), found_.data());
}

std::vector<i64> Counted::counts_in(i64 number) const {
  const std::size_t kinds = to_index(2 * bounds_.size() + 1);
  std::vector<i64> counts;
  for (std::size_t r = 0; r < counts_.size(); ++r)
    counts.push_back(found_[r * kinds + to_index(number)]);
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
  std::vector<Wanted> wanted(to_index(2 * bounds_.size() + 1));
  std::vector<Array> found;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const i64 count = which ? static_cast<i64>((*which)[k].size())
                            : counts_in(numbers[k])[to_index(comm_.rank())];
    found.push_back(empty_dense({count}, items_.dtype()));
    Wanted& w = wanted[to_index(numbers[k])];
    if (count > 0) w.to = bytes_of(found.back());
    if (which) w.next = (*which)[k].data(), w.end = w.next + count;
  }
  const std::size_t item = to_index(size_of(items_.dtype()));
  over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) {
      Wanted& w = wanted[c[i]];
      if (!w.to) continue;
      if (w.next) {
        if (w.next == w.end || *w.next != w.seen++) continue;
        ++w.next;
      }
      std::memcpy(w.to, bytes_of(block) + to_index(i) * item, item);
      w.to += item;
    }
    return true;
  });
  return found;
}

// Items of this rank before the class.
i64 Counted::mine_before(i64 number) const {
  const std::size_t kinds = to_index(2 * bounds_.size() + 1), me = to_index(comm_.rank());
  const i64* const first = found_.data() + me * kinds;
  return std::accumulate(first, first + std::min(to_index(number), kinds), i64{0});
}

// Cuts of a class of equal items.
void Counted::cut_equals(const Class& c, std::span<const i64> inside,
                         std::vector<CountedEdge>& edges) const {
  const std::vector<i64> counts = counts_in(c.number);
  const i64 ahead = std::accumulate(counts.begin(), counts.begin() + comm_.rank(), i64{0});
  for (const i64 t : inside) {
    const i64 equals = std::clamp<i64>(t - ahead, 0, counts[to_index(comm_.rank())]);
    edges.push_back({bound(c.number / 2), equals, mine_before(c.number) + equals, c.before + t});
  }
}

// Cuts of a class of few items: each lies before one of this rank's, or before the next bound.
void Counted::cut_few(const Class& c, const Array& sorted, std::span<const i64> inside,
                      std::vector<CountedEdge>& edges) const {
  const std::vector<i64> counts = counts_in(c.number);
  for (std::size_t k = 0; k < inside.size(); k += to_index(comm_.size())) {
    const auto some = inside.subspan(k, std::min(inside.size() - k, to_index(comm_.size())));
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
  result.bounds = without_repeats(tessera::sort(concatenate(values, 0))).contiguous();
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
        const i64 equals = counts_in(c.number - 1)[to_index(comm_.rank())];
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
  while (n >= counts[to_index(owner)]) n -= counts[to_index(owner++)];
  const Array found = empty_dense({1}, items_.dtype());
  const std::size_t item = to_index(size_of(items_.dtype()));
  if (owner == comm_.rank())
    over_blocks(items_, bounds_, [&](i64, const Array& block, const std::uint16_t* c) {
      for (i64 i = 0; i < block.size() && n >= 0; ++i)
        if (c[i] == number && n-- == 0)
          std::memcpy(bytes_of(found), bytes_of(block) + to_index(i) * item, item);
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
