// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/partition.hpp"

#include <algorithm>

namespace tessera::dist {
namespace {

using Starts = std::vector<i64>;

// How many of start, start + step, … lie before `bound`; the step may be near 2^63.
i64 before(const SliceRange& range, i64 bound) {
  if (bound <= range.start) return 0;
  return std::min(range.length, (bound - range.start - 1) / range.step + 1);
}

}  // namespace

Partition Partition::even(i64 n, int ranks) {
  require<ArgumentError>(n >= 0 && ranks > 0, "partition: cannot split ", n, " entries over ",
                         ranks, " ranks");
  auto starts = std::make_shared<Starts>(static_cast<std::size_t>(ranks) + 1);
  const i64 each = n / ranks, more = n % ranks;
  for (i64 r = 0; r <= ranks; ++r)
    (*starts)[static_cast<std::size_t>(r)] = r * each + std::min(r, more);
  Partition part;
  part.starts_ = std::move(starts);
  return part;
}

Partition Partition::of(std::span<const i64> counts) {
  require<ArgumentError>(!counts.empty(), "partition: expected a count for each rank, got none");
  auto starts = std::make_shared<Starts>(1, 0);
  starts->reserve(counts.size() + 1);
  for (std::size_t r = 0; r < counts.size(); ++r) {
    require<ArgumentError>(counts[r] >= 0, "partition: rank ", r, " cannot hold ", counts[r],
                           " entries");
    i64 end = 0;
    require<ArgumentError>(!__builtin_add_overflow(starts->back(), counts[r], &end),
                           "partition: the counts sum up to more than 63 bits can count");
    starts->push_back(end);
  }
  Partition part;
  part.starts_ = std::move(starts);
  return part;
}

Partition Partition::all_on(i64 n, int ranks, int owner) {
  require<ArgumentError>(owner >= 0 && owner < ranks, "partition: there is no rank ", owner, " of ",
                         ranks);
  std::vector<i64> counts(static_cast<std::size_t>(ranks), 0);
  counts[static_cast<std::size_t>(owner)] = n;
  return of(counts);
}

int Partition::owner(i64 entry) const {
  assert(entry >= 0 && entry < size());
  // The last rank that begins at or before the entry: empty ranks begin there too, but earlier.
  const auto after = std::upper_bound(starts_->begin(), starts_->end(), entry);
  return static_cast<int>(after - starts_->begin()) - 1;
}

std::vector<i64> Partition::counts() const {
  std::vector<i64> counts;
  if (!starts_) return {0};
  counts.reserve(starts_->size());
  for (int r = 0; r < ranks(); ++r) counts.push_back(count(r));
  return counts;
}

bool Partition::balanced() const {
  const i64 n = size(), p = ranks(), each = n / p, more = n % p;
  for (i64 r = 0; starts_ && r < p; ++r)
    if (begin(static_cast<int>(r)) != r * each + std::min(r, more)) return false;
  return true;
}

bool operator==(const Partition& a, const Partition& b) {
  if (a.starts_ == b.starts_) return true;
  if (!a.starts_ || !b.starts_) return a.size() == b.size() && a.ranks() == b.ranks();
  return *a.starts_ == *b.starts_;
}

Partition Partition::sliced(const SliceRange& range) const {
  assert(range.step > 0);
  auto starts = std::make_shared<Starts>();
  for (i64 s : starts_ ? std::span<const i64>(*starts_) : std::span<const i64>{})
    starts->push_back(before(range, s));
  Partition part;
  if (starts_) part.starts_ = std::move(starts);
  return part;
}

SliceRange Partition::local_range(const SliceRange& range, int rank) const {
  const i64 first = before(range, begin(rank)), last = before(range, end(rank));
  if (first == last) return {0, 0, range.step};
  return {range.start + first * range.step - begin(rank), last - first, range.step};
}

}  // namespace tessera::dist
