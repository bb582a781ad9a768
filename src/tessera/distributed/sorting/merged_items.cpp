// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tessera/distributed/sorting/sample_splitters.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Of one item of each rank, with a byte that says whether it has one, the first in order.
Array first_of(const std::vector<std::byte>& all, std::size_t share, std::size_t k,
               std::size_t positions, DType dtype, int ranks) {
  const std::size_t item = to_index(size_of(dtype));
  const Array next = empty_dense({ranks}, dtype);
  i64 n = 0;
  for (std::size_t r = 0; r < to_index(ranks); ++r) {
    const std::byte* const from = all.data() + r * share;
    if (from[positions * item + k] == std::byte{0}) continue;
    std::memcpy(static_cast<std::byte*>(next.host_data()) + to_index(n++) * item, from + k * item,
                item);
  }
  return tessera::sort(next.slice(0, 0, n)).slice(0, 0, 1);
}

// As many positions as ranks at most.
Array some_items(const Array& sorted, std::span<const i64> counts, std::span<const i64> positions,
                 const Communicator& comm) {
  const std::vector<i64> splitters = find_splitters(sorted, counts, positions, false, comm);
  const std::size_t number = positions.size(), item = to_index(size_of(sorted.dtype())),
                    share = number * (item + 1);
  std::vector<std::byte> mine(share), all(share * to_index(comm.size()));
  if (sorted.size() > 0) {
    const Array there = empty_dense({static_cast<i64>(number)}, DType::i64);
    for (std::size_t k = 0; k < number; ++k)
      there.host<i64>()[k] = std::min(splitters[k], sorted.size() - 1);
    const Array next = take(sorted, there.to(sorted.device()), 0).to(cpu).contiguous();
    copy_bytes(mine.data(), next.host_data(), number * item);
  }
  for (std::size_t k = 0; k < number; ++k)
    mine[number * item + k] = std::byte{splitters[k] < sorted.size()};
  comm.allgather(mine.data(), static_cast<i64>(share), all.data());
  const Array found = empty_dense({static_cast<i64>(number)}, sorted.dtype());
  for (std::size_t k = 0; k < number; ++k)
    found.slice(0, static_cast<i64>(k), static_cast<i64>(k) + 1)
        .copy_from(first_of(all, share, k, number, sorted.dtype(), comm.size()));
  return found;
}

}  // namespace

Array merged_items(const Array& sorted, std::span<const i64> counts, std::span<const i64> positions,
                   const Communicator& comm) {
  const Array found = empty_dense({static_cast<i64>(positions.size())}, sorted.dtype());
  const std::size_t ranks = to_index(comm.size());
  for (std::size_t k = 0; k < positions.size(); k += ranks) {
    const auto some = positions.subspan(k, std::min(ranks, positions.size() - k));
    const i64 begin = static_cast<i64>(k), end = begin + static_cast<i64>(some.size());
    found.slice(0, begin, end).copy_from(some_items(sorted, counts, some, comm));
  }
  return found;
}

}  // namespace tessera::dist
