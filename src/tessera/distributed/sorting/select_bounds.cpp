// SPDX-License-Identifier: Apache-2.0
// Where the bounds of Note [splitters by counting] come from: samples of the buckets that are to be
// narrowed.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tessera/distributed/sorting/select.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Numbers below n, ascending, one from each of about `wanted` equal intervals, at no fixed
// distance: what repeats in the items does not repeat here.
std::vector<i64> scattered(i64 n, i64 wanted) {
  std::vector<i64> positions;
  if (n == 0) return positions;
  const i64 step = std::max<i64>(1, n / std::max<i64>(1, wanted));
  for (i64 begin = 0; begin < n; begin += step) {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(begin) + 1) * 0x9e3779b97f4a7c15u;
    const i64 length = std::min(step, n - begin);
    positions.push_back(begin +
                        static_cast<i64>((mixed >> 32) % static_cast<std::uint64_t>(length)));
  }
  return positions;
}

// Blocks of all ranks, one behind the other.
Array together(const Array& mine, const Communicator& comm) {
  std::vector<i64> lengths(to_index(comm.size()));
  const i64 bytes = mine.bytes();
  comm.allgather(&bytes, sizeof bytes, lengths.data());
  const i64 all = std::accumulate(lengths.begin(), lengths.end(), i64{0});
  const Array result = empty_dense({all / size_of(mine.dtype())}, mine.dtype());
  comm.allgather(mine.host_data(), lengths, result.host_data());
  return result;
}

}  // namespace

// Of each bucket some items of this rank, more of what it has more of; `sizes`: of all ranks.
std::vector<Array> Selection::samples_of(const std::vector<i64>& numbers,
                                         const std::vector<i64>& sizes) const {
  std::vector<std::vector<i64>> positions;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const i64 mine = counts_in(numbers[k])[to_index(comm_.rank())];
    const double share = static_cast<double>(mine) / static_cast<double>(in_bucket(numbers[k]));
    positions.push_back(
        scattered(mine, static_cast<i64>(std::ceil(static_cast<double>(sizes[k]) * share))));
  }
  if (bounds_.size() > 0) return pick(numbers, &positions);
  const Array index = empty_dense({static_cast<i64>(positions[0].size())}, DType::i64);
  std::copy(positions[0].begin(), positions[0].end(), index.host<i64>());
  return {take(items_, index, 0).contiguous()};
}

// Bounds where targets are thought to be, or on either side of it: by bucket, their positions there
// from 0 to 1.
void Selection::add_bounds(const std::vector<std::pair<i64, double>>& wanted, bool either_side) {
  // Between two bounds that divide a bucket lie as many of its sample as tell their distance well.
  const i64 first = either_side ? budget_.sample * comm_.size() : 0,
            each = either_side ? 0 : std::max<i64>(1, budget_.sample / 256);
  std::vector<i64> numbers, sizes;
  for (const auto& [number, position] : wanted) {
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
      for (const i64 position : {middle - margin, middle + margin}) {
        const i64 i = std::clamp<i64>(position, 0, n - 1);
        bounds.push_back(sample.slice(0, i, i + 1));
      }
    }
  }
  bounds_ = without_repeats(tessera::sort(concatenate(bounds, 0))).contiguous();
}

void Selection::refine(std::span<const i64> targets) {
  const i64 few = std::max<i64>(1, budget_.gathered / size_of(items_.dtype()));
  for (;;) {
    std::vector<std::pair<i64, double>> wanted;
    for (const i64 t : targets) {
      const Bucket b = bucket_of(t);
      if (b.number > 2 * bounds_.size() || b.number % 2 == 1) continue;
      const std::vector<i64> counts = counts_in(b.number);
      if (*std::max_element(counts.begin(), counts.end()) <= few) continue;
      wanted.emplace_back(
          b.number, static_cast<double>(t - b.before) / static_cast<double>(in_bucket(b.number)));
    }
    if (wanted.empty()) return;
    add_bounds(wanted, true);
    count();
  }
}

// Classes of different items that are longer get bounds at even distances, until none is.
void Selection::narrow(i64 longest) {
  for (;;) {
    std::vector<std::pair<i64, double>> wanted;
    for (i64 number = 0; number <= 2 * bounds_.size(); number += 2) {
      // Twice as many as would do: samples are not exact.
      const i64 size = in_bucket(number), pieces = size > longest ? 2 * size / longest + 1 : 1;
      for (i64 k = 1; k < pieces; ++k)
        wanted.emplace_back(number, static_cast<double>(k) / static_cast<double>(pieces));
    }
    if (wanted.empty()) return;
    add_bounds(wanted, false);
    count();
  }
}

}  // namespace tessera::dist
