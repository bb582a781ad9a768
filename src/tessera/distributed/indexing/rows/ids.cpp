// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/ids.hpp"

#include <algorithm>
#include <bit>

#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// How many ids of a set lie before each.
class Slots {
 public:
  explicit Slots(const IdSet& set) : set_(set), before_(set.words().size()) {
    i64 sum = 0;
    for (std::size_t w = 0; w < before_.size(); ++w) {
      before_[w] = sum;
      sum += std::popcount(set.words()[w]);
    }
  }
  i64 of(i64 id) const {
    const i64 at = id - set_.first();
    const auto w = static_cast<std::size_t>(at >> 6);
    const std::uint64_t below = set_.words()[w] & ((std::uint64_t{1} << (at & 63)) - 1);
    return before_[w] + std::popcount(below);
  }

 private:
  const IdSet& set_;
  std::vector<i64> before_;
};

struct Range {
  i64 first = 0, last = 0;
};
Range range_of(std::span<const i64> entries) {
  if (entries.empty()) return {};
  i64 low = entries[0], high = low;
  for (const i64 id : entries) {
    low = std::min(low, id);
    high = std::max(high, id);
  }
  return {low, high + 1};
}
bool dense(const Range& r, std::size_t entries) {
  return IdSet::pays(r.last - r.first, static_cast<i64>(entries));
}

Array host_view(std::span<const i64> entries) {
  const auto n = static_cast<i64>(entries.size());
  return Array(Storage::adopt(
                   cpu, const_cast<i64*>(entries.data()), n * 8, [] {}, false),
               Layout::contiguous({n}), DType::i64);
}

NumberList to_list(const Array& a) {
  const Array dense = a.contiguous();
  NumberList list(static_cast<std::size_t>(dense.size()));
  std::copy_n(dense.host<i64>(), list.size(), list.data());
  return list;
}

// Ids that lie close: a number for each that there is between the first and the last, at first
// whether it is meant, then how many are before it.
Distinct distinct_by_table(std::span<const i64> entries, const Range& r) {
  const auto range = static_cast<std::size_t>(r.last - r.first);
  NumberList before(range);
  std::fill(before.begin(), before.end(), i64{0});
  for (const i64 id : entries) before[static_cast<std::size_t>(id - r.first)] = 1;
  Distinct d{NumberList(std::min(range, entries.size()) + 1), {}};
  i64 found = 0;
  for (std::size_t k = 0; k < range; ++k) {  // written in any case, kept where it is meant
    const i64 meant = before[k];
    d.ids[static_cast<std::size_t>(found)] = r.first + static_cast<i64>(k);
    before[k] = found;
    found += meant;
  }
  d.ids.shorten(static_cast<std::size_t>(found));
  d.slot = NarrowList(entries.size(), found, [&, next = entries.data()]() mutable {
    return before[static_cast<std::size_t>(*next++ - r.first)];
  });
  return d;
}

Distinct distinct_by_bits(std::span<const i64> entries, const Range& r) {
  IdSet set(r.first, r.last);
  set.add(entries);
  Distinct d{NumberList(static_cast<std::size_t>(set.size())), {}};
  i64* to = d.ids.data();
  set.each([&](i64 id) { *to++ = id; });
  const Slots slots(set);
  d.slot = NarrowList(entries.size(), static_cast<i64>(d.ids.size()),
                      [&, next = entries.data()]() mutable { return slots.of(*next++); });
  return d;
}

}  // namespace

Distinct distinct(std::span<const i64> entries) {
  if (entries.empty()) return {};
  const Range r = range_of(entries);
  constexpr i64 table = i64{1} << 19;  // numbers that stay near
  if (r.last - r.first <= std::min(table, 4 * static_cast<i64>(entries.size())))
    return distinct_by_table(entries, r);
  if (dense(r, entries.size())) return distinct_by_bits(entries, r);
  const Unique u = unique(host_view(entries));
  return {to_list(u.values), NarrowList(to_list(u.inverse), u.values.size())};
}

std::vector<i64> distinct_within(std::span<const i64> entries, i64 first, i64 last) {
  std::vector<i64> mine;
  if (last <= first) return mine;
  if (dense({first, last}, entries.size())) {
    IdSet set(first, last);
    for (const i64 id : entries)
      if (id >= first && id < last) set.add(id);
    return set.ids();
  }
  for (const i64 id : entries)
    if (id >= first && id < last) mine.push_back(id);
  std::sort(mine.begin(), mine.end());
  mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  return mine;
}

LastWriters last_writers(std::span<const i64> entries) {
  const Distinct d = distinct(entries);
  LastWriters w{d.ids, NumberList(d.ids.size())};
  for (std::size_t j = 0; j < entries.size(); ++j)  // later ones write over earlier ones
    w.entry[static_cast<std::size_t>(d.slot[j])] = static_cast<i64>(j);
  return w;
}

std::vector<i64> owner_bounds(std::span<const i64> sorted, const Partition& part, i64 row) {
  std::vector<i64> bounds;
  for (const i64 start : part.starts())
    bounds.push_back(std::lower_bound(sorted.begin(), sorted.end(), start * row) - sorted.begin());
  return bounds;
}

Array list_of(std::span<const i64> numbers) {
  const auto n = static_cast<i64>(numbers.size());
  const Array a(Storage::allocate(cpu, n * 8), Layout::contiguous({n}), DType::i64);
  std::copy(numbers.begin(), numbers.end(), a.host<i64>());
  return a;
}

}  // namespace tessera::dist
