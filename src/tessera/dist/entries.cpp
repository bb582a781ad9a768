// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/entries.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/kernels/sort/sort.hpp"

namespace tessera {
namespace {

// One bit for each id of [first, last), and how many are set before each word.
class IdSet {
 public:
  IdSet(i64 first, i64 last)
      : first_(first), words_(static_cast<std::size_t>((last - first + 63) / 64)) {}
  void add(i64 id) {
    const i64 at = id - first_;
    words_[static_cast<std::size_t>(at >> 6)] |= std::uint64_t{1} << (at & 63);
  }
  void count() {
    before_.resize(words_.size());
    i64 sum = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      before_[w] = sum;
      sum += std::popcount(words_[w]);
    }
    total_ = sum;
  }
  i64 slot(i64 id) const {
    const i64 at = id - first_;
    const auto w = static_cast<std::size_t>(at >> 6);
    const std::uint64_t below = words_[w] & ((std::uint64_t{1} << (at & 63)) - 1);
    return before_[w] + std::popcount(below);
  }
  std::vector<i64> ids() const {
    std::vector<i64> all;
    all.reserve(static_cast<std::size_t>(total_));
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        all.push_back(first_ + static_cast<i64>(w) * 64 + std::countr_zero(rest));
    return all;
  }

 private:
  i64 first_, total_ = 0;
  std::vector<std::uint64_t> words_;
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
// A set of bits costs a pass over the whole range: worth it while that is not much longer than the
// list.
bool dense(const Range& r, std::size_t entries) {
  return r.last - r.first <= 64 * static_cast<i64>(entries) + 1024;
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
    set.count();
    d.ids = set.ids();
    d.slot.reserve(entries.size());
    for (const i64 id : entries) d.slot.push_back(set.slot(id));
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
    set.count();
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

i64 bytes_of_number(i64 radix) {
  if (radix <= (i64{1} << 8)) return 1;
  if (radix <= (i64{1} << 16)) return 2;
  return radix <= (i64{1} << 32) ? 4 : 8;
}

i64 wire_bytes(WireKind kind, i64 ids, i64 runs, i64 radix) {
  const i64 width = bytes_of_number(radix);
  switch (kind) {
    case WireKind::numbers: return ids * width;
    case WireKind::runs: return runs * 2 * width;
    default: return (radix + 7) / 8;
  }
}

void put_numbers(std::span<const i64> numbers, i64 width, std::byte* out) {
  for (const i64 n : numbers) {
    std::memcpy(out, &n, static_cast<std::size_t>(width));  // lowest bytes first on our machines
    out += width;
  }
}

void take_numbers(const std::byte* in, i64 width, std::span<i64> numbers) {
  for (i64& n : numbers) {
    n = 0;
    std::memcpy(&n, in, static_cast<std::size_t>(width));
    in += width;
  }
}

Wire encode(std::span<const i64> sorted, i64 base, i64 radix) {
  static_assert(std::endian::native == std::endian::little);
  const auto n = static_cast<i64>(sorted.size());
  Wire wire;
  if (n == 0) return wire;
  wire.ids = n;
  wire.runs = 1;
  for (i64 k = 1; k < n; ++k)
    wire.runs += sorted[static_cast<std::size_t>(k)] != sorted[static_cast<std::size_t>(k - 1)] + 1;
  const bool countable = n < (i64{1} << 32) && wire.runs < (i64{1} << 29);  // see Notice
  i64 least = wire_bytes(WireKind::numbers, n, wire.runs, radix);
  for (const WireKind kind : {WireKind::runs, WireKind::bits}) {
    const i64 bytes = wire_bytes(kind, n, wire.runs, radix);
    if (bytes >= least || (kind == WireKind::runs && !countable)) continue;
    wire.kind = kind;
    least = bytes;
  }
  wire.bytes.resize(static_cast<std::size_t>(least));
  const i64 width = bytes_of_number(radix);
  if (wire.kind == WireKind::bits) {
    for (const i64 id : sorted)
      wire.bytes[static_cast<std::size_t>((id - base) >> 3)] |= std::byte{1} << ((id - base) & 7);
    return wire;
  }
  std::vector<i64> numbers;
  if (wire.kind == WireKind::numbers) {
    for (const i64 id : sorted) numbers.push_back(id - base);
  } else {
    for (i64 k = 0; k < n;) {  // a length is stored less one: it may be the radix itself
      i64 end = k + 1;
      while (end < n &&
             sorted[static_cast<std::size_t>(end)] == sorted[static_cast<std::size_t>(end - 1)] + 1)
        ++end;
      numbers.push_back(sorted[static_cast<std::size_t>(k)] - base);
      numbers.push_back(end - k - 1);
      k = end;
    }
  }
  put_numbers(numbers, width, wire.bytes.data());
  return wire;
}

std::vector<i64> decode(WireKind kind, std::span<const std::byte> bytes, i64 base, i64 radix) {
  std::vector<i64> ids;
  if (kind == WireKind::bits) {
    for (std::size_t b = 0; b < bytes.size(); ++b)
      for (auto rest = std::to_integer<unsigned>(bytes[b]); rest != 0; rest &= rest - 1)
        ids.push_back(base + static_cast<i64>(b) * 8 + std::countr_zero(rest));
    return ids;
  }
  const i64 width = bytes_of_number(radix);
  std::vector<i64> numbers(bytes.size() / static_cast<std::size_t>(width));
  take_numbers(bytes.data(), width, numbers);
  if (kind == WireKind::numbers) {
    for (i64& n : numbers) n += base;
    return numbers;
  }
  for (std::size_t k = 0; k < numbers.size(); k += 2)
    for (i64 id = 0; id <= numbers[k + 1]; ++id) ids.push_back(base + numbers[k] + id);
  return ids;
}

}  // namespace tessera
