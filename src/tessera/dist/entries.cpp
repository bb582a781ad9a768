// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/entries.hpp"

#include <algorithm>
#include <bit>

#include "tessera/kernels/sort/sort.hpp"

namespace tessera {
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
  const auto [low, high] = std::minmax_element(entries.begin(), entries.end());
  return {*low, *high + 1};
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

std::vector<i64> to_vector(const Array& a) {
  const Array dense = a.contiguous();
  const i64* data = dense.host<i64>();
  return {data, data + dense.size()};
}

}  // namespace

Distinct distinct(std::span<const i64> entries) {
  Distinct d;
  if (entries.empty()) return d;
  if (const Range r = range_of(entries); dense(r, entries.size())) {
    IdSet set(r.first, r.last);
    for (const i64 id : entries) set.add(id);
    d.ids = set.ids();
    const Slots slots(set);
    d.slot.resize(entries.size());
    for (std::size_t j = 0; j < entries.size(); ++j) d.slot[j] = slots.of(entries[j]);
    return d;
  }
  const Unique u = unique(host_view(entries));
  d.ids = to_vector(u.values);
  d.slot = to_vector(u.inverse);
  return d;
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

Winners winners(std::span<const i64> entries) {
  const Distinct d = distinct(entries);
  Winners w{d.ids, std::vector<i64>(d.ids.size())};
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

}  // namespace tessera
