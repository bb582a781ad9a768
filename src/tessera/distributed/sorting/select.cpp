// SPDX-License-Identifier: Apache-2.0
// Note [splitters by counting]: bounds, the same on all ranks, divide the items into buckets: those
// that equal a bound, and those between two. Counting tells in which bucket a target lies. A bucket
// of equal items is split by rank and position. One of different items is narrowed by bounds from a
// sample of it until few are left in it; those are gathered, sorted, and split by find_splitters.
// Each bound is an item of the bucket, so that every round makes the bucket smaller.
#include "tessera/distributed/sorting/select.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tessera/distributed/sorting/sample_splitters.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr i64 counted_at_once = 1 << 16;  // items whose buckets are held

// f(items, their buckets) for block after block.
template <class F>
void over_blocks(const Array& items, const Array& bounds, F&& f) {
  for (i64 begin = 0; begin < items.size(); begin += counted_at_once) {
    const Array block =
        items.slice(0, begin, std::min(begin + counted_at_once, items.size())).contiguous();
    const Array found = classes(block, bounds);
    f(block, found.host<std::uint16_t>());
  }
}

}  // namespace

Selection::Selection(const Array& items, std::span<const i64> counts, const Communicator& comm,
                     const MemoryBudget& budget)
    : items_(items),
      counts_(counts.begin(), counts.end()),
      comm_(comm),
      budget_(budget),
      bounds_(empty_dense({0}, items.dtype())),
      found_(counts_) {}

void Selection::count() {
  const std::size_t kinds = to_index(2 * bounds_.size() + 1);
  std::vector<i64> mine(kinds, 0);
  over_blocks(items_, bounds_, [&](const Array& block, const std::uint16_t* c) {
    for (i64 i = 0; i < block.size(); ++i) ++mine[c[i]];
  });
  found_.assign(kinds * counts_.size(), 0);
  comm_.allgather(mine.data(), static_cast<i64>(kinds * sizeof(i64)), found_.data());
}

std::vector<i64> Selection::counts_in(i64 number) const {
  const std::size_t kinds = to_index(2 * bounds_.size() + 1);
  std::vector<i64> counts;
  for (std::size_t r = 0; r < counts_.size(); ++r)
    counts.push_back(found_[r * kinds + to_index(number)]);
  return counts;
}

i64 Selection::in_bucket(i64 number) const {
  const std::vector<i64> counts = counts_in(number);
  return std::accumulate(counts.begin(), counts.end(), i64{0});
}

Selection::Bucket Selection::bucket_of(i64 target) const {
  const i64 kinds = 2 * bounds_.size() + 1;
  Bucket b{0, 0};
  for (; b.number < kinds; ++b.number) {
    const i64 size = in_bucket(b.number);
    if (target < b.before + size) break;
    b.before += size;
  }
  return b;
}

// Items of some buckets in order of their positions, each bucket by itself: all, or those with the
// numbers that are asked for. One reading of the items.
std::vector<Array> Selection::pick(const std::vector<i64>& numbers,
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
  over_blocks(items_, bounds_, [&](const Array& block, const std::uint16_t* c) {
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
  });
  return found;
}

// Items of this rank before the bucket.
i64 Selection::mine_before(i64 number) const {
  const std::size_t kinds = to_index(2 * bounds_.size() + 1), me = to_index(comm_.rank());
  const i64* const first = found_.data() + me * kinds;
  return std::accumulate(first, first + std::min(to_index(number), kinds), i64{0});
}

// Splitters of a bucket of equal items.
void Selection::split_equals(const Bucket& b, std::span<const i64> inside,
                             std::vector<Splitter>& splitters) const {
  const std::vector<i64> counts = counts_in(b.number);
  const i64 ahead = std::accumulate(counts.begin(), counts.begin() + comm_.rank(), i64{0});
  for (const i64 t : inside) {
    const i64 equals = std::clamp<i64>(t - ahead, 0, counts[to_index(comm_.rank())]);
    splitters.push_back(
        {bound(b.number / 2), equals, mine_before(b.number) + equals, b.before + t});
  }
}

// Splitters of a bucket of few items: each lies before one of this rank's, or before the next
// bound.
void Selection::split_few(const Bucket& b, const Array& sorted, std::span<const i64> inside,
                          std::vector<Splitter>& splitters) const {
  const std::vector<i64> counts = counts_in(b.number);
  for (std::size_t k = 0; k < inside.size(); k += to_index(comm_.size())) {
    const auto some = inside.subspan(k, std::min(inside.size() - k, to_index(comm_.size())));
    const std::vector<i64> found = find_splitters(sorted, counts, some, false, comm_);
    for (std::size_t j = 0; j < some.size(); ++j) {
      const i64 before = mine_before(b.number) + found[j], position = b.before + some[j];
      if (found[j] == sorted.size()) {
        splitters.push_back({bound(b.number / 2), 0, before, position});
        continue;
      }
      const Array value = sorted.slice(0, found[j], found[j] + 1);
      const i64 smaller = searchsorted(sorted, value).select(0, 0).item().as<i64>();
      splitters.push_back({value, found[j] - smaller, before, position});
    }
  }
}

// Targets of one bucket after those of another.
std::vector<Selection::Inside> Selection::by_bucket(std::span<const i64> targets) {
  refine(targets);
  std::vector<Inside> all;
  std::vector<i64> few;
  for (const i64 t : targets) {
    const Bucket b = bucket_of(t);
    if (all.empty() || all.back().bucket.number != b.number) {
      all.push_back({b, Array(), {}});
      if (b.number % 2 == 0 && b.number <= 2 * bounds_.size()) few.push_back(b.number);
    }
    all.back().targets.push_back(t - b.before);
  }
  if (few.empty()) return all;
  const std::vector<Array> found = pick(few, nullptr);
  std::size_t k = 0;
  for (Inside& i : all)
    if (k < few.size() && few[k] == i.bucket.number) i.sorted = tessera::sort(found[k++]);
  return all;
}

std::vector<Splitter> Selection::splitters_at(std::span<const i64> targets) {
  std::vector<Splitter> splitters;
  for (const Inside& i : by_bucket(targets))
    if (i.sorted)
      split_few(i.bucket, i.sorted, i.targets, splitters);
    else if (i.bucket.number > 2 * bounds_.size())
      splitters.insert(splitters.end(), i.targets.size(),
                       Splitter{{}, 0, items_.size(), i.bucket.before});
    else
      split_equals(i.bucket, i.targets, splitters);
  return splitters;
}

LocalSplitters Selection::localized(std::span<const Splitter> splitters) const {
  LocalSplitters result;
  std::vector<Array> values{empty_dense({0}, items_.dtype())};
  for (const Splitter& s : splitters)
    if (s.value) values.push_back(s.value);
  result.bounds = without_repeats(tessera::sort(concatenate(values, 0))).contiguous();
  for (const Splitter& s : splitters) {
    i64 number = 2 * result.bounds.size() + 1;
    if (s.value) number = *classes(s.value.contiguous(), result.bounds).host<std::uint16_t>();
    if (s.position == 0) number = -1;  // before all
    LocalSplitter local{number, s.equals, s.before};
    // Where no item of this rank lies between two splitters, the later one may have been named by a
    // smaller value: it is the earlier one then.
    if (!result.at.empty()) {
      const LocalSplitter& last = result.at.back();
      if (std::pair(local.bound, local.equals) < std::pair(last.bound, last.equals)) local = last;
    }
    result.at.push_back(local);
  }
  return result;
}

std::vector<Splitter> Selection::bucket_splitters(const Partition& part, i64 longest) {
  const auto starts = part.starts();
  std::vector<Splitter> ends = splitters_at(starts.subspan(1, starts.size() - 2));
  ends.insert(ends.begin(), Splitter{{}, 0, 0, 0});
  ends.push_back({{}, 0, items_.size(), starts.back()});
  narrow(std::max<i64>(1, longest / 2));
  std::vector<Splitter> splitters;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    splitters.push_back(ends[k]);
    const i64 end = k + 1 < ends.size() ? ends[k + 1].position : 0;
    while (splitters.back().position + longest < end) {
      const i64 target = splitters.back().position + longest;
      const Bucket b = bucket_of(target);
      if (b.number % 2 == 1) {
        const i64 inside[] = {target - b.before};
        split_equals(b, inside, splitters);
      } else {  // behind the bound before the bucket
        const i64 equals = counts_in(b.number - 1)[to_index(comm_.rank())];
        splitters.push_back({bound(b.number / 2 - 1), equals, mine_before(b.number), b.before});
      }
    }
  }
  return splitters;
}

// Item n of a bucket of equal ones, in order of rank and position.
Array Selection::nth_of_bucket(i64 number, i64 n) const {
  const std::vector<i64> counts = counts_in(number);
  int owner = 0;
  while (n >= counts[to_index(owner)]) n -= counts[to_index(owner++)];
  const std::vector<std::vector<i64>> which{{n}};
  const Array found =
      owner == comm_.rank() ? pick({number}, &which)[0] : empty_dense({1}, items_.dtype());
  comm_.broadcast(found.host_data(), found.bytes(), owner);
  return found;
}

Array Selection::items_at(std::span<const i64> positions) {
  std::vector<Array> found{empty_dense({0}, items_.dtype())};
  for (const Inside& i : by_bucket(positions)) {
    if (i.sorted) {
      found.push_back(merged_items(i.sorted, counts_in(i.bucket.number), i.targets, comm_));
      continue;
    }
    for (const i64 t : i.targets) found.push_back(nth_of_bucket(i.bucket.number, t));
  }
  return concatenate(found, 0);
}

}  // namespace tessera::dist
