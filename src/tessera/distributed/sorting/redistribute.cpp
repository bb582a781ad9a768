// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/redistribute.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/distributed/sorting/bucket_of.hpp"
#include "tessera/distributed/sorting/exchange.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/in_place.hpp"

namespace tessera::dist {
namespace {

constexpr i64 partitioned_at_once = 1 << 15;  // items whose classes are held

// Items for a rank; this rank's own lie in the result.
struct SendBuffer {
  std::byte* values = nullptr;
  i64 count = 0, most = 0;
};

class Partitioner {
 public:
  Partitioner(const Array& items, const LocalSplitters& splitters, std::vector<SendBuffer>& buffers)
      : items_(items), bounds_(splitters.bounds), bucket_of_(splitters), buffers_(buffers) {}

  // On to the next items, until a buffer is full; false: there are no more.
  bool fill() {
    bool full = false;
    while (!full && next_ < items_.size()) {
      if (next_ >= end_) classify();
      with_item(size_of(items_.dtype()), [&]<class I>(const I&) { full = partition<I>(); });
    }
    return full || next_ < items_.size();
  }

 private:
  void classify() {
    begin_ = next_;
    end_ = std::min(begin_ + partitioned_at_once, items_.size());
    block_ = items_.slice(0, begin_, end_).contiguous();
    classes_ = classes(block_, bounds_);
  }

  template <class I>
  bool partition() {
    const I* const from = static_cast<const I*>(block_.host_data());
    const std::uint16_t* const c = classes_.host<std::uint16_t>();
    while (next_ < end_) {
      const i64 i = next_++ - begin_;
      SendBuffer& b = buffers_[bucket_of_(c[i])];
      reinterpret_cast<I*>(b.values)[b.count] = from[i];
      if (++b.count == b.most) return true;
    }
    return false;
  }

  const Array& items_;
  const Array& bounds_;
  BucketOf bucket_of_;
  std::vector<SendBuffer>& buffers_;
  Array block_, classes_;
  i64 begin_ = 0, end_ = 0, next_ = 0;
};

// Items that this rank sends to each.
std::vector<i64> sends_of(const LocalSplitters& splitters, i64 items) {
  std::vector<i64> before;
  for (const LocalSplitter& s : splitters.at) before.push_back(s.before);
  return pieces_of(before, items, static_cast<int>(before.size()) + 1);
}

}  // namespace

Array redistribute(const Array& items, const LocalSplitters& splitters, const Communicator& comm,
                   const MemoryBudget& budget) {
  const std::size_t ranks = to_index(comm.size()), me = to_index(comm.rank());
  const i64 item = size_of(items.dtype());
  const Routes routes = routes_of(sends_of(splitters, items.size()), comm);
  const Array result = empty_dense({routes.received()}, items.dtype());
  // Buffers begin at multiples of 16 bytes.
  const i64 longest = *std::max_element(routes.sends.begin(), routes.sends.end());
  const i64 fit = std::min(std::max<i64>(16, budget.piece / item / comm.size() / 16 * 16),
                           longest / 16 * 16 + 16);
  const Array room = empty_dense({fit * item * comm.size()}, DType::u8);
  std::vector<i64> filled(ranks, 0);  // up to where the result holds what each rank sent
  std::partial_sum(routes.receives.begin(), routes.receives.end() - 1, filled.begin() + 1);
  std::vector<SendBuffer> buffers(ranks);
  for (std::size_t q = 0; q < ranks; ++q)
    buffers[q] = {bytes_of(room) + static_cast<i64>(q) * fit * item, 0, fit};
  buffers[me] = {bytes_of(result) + filled[me] * item, 0, -1};
  Partitioner partitioner(items, splitters, buffers);
  const PieceExchange pieces{
      .fill = [&] { return partitioner.fill(); },
      .ready = [&](std::size_t q) { return q == me ? 0 : buffers[q].count; },
      .send_from = [&](std::size_t q) { return buffers[q].values; },
      .receive_at = [&](std::size_t q) { return bytes_of(result) + filled[q] * item; },
      .done =
          [&](std::size_t q, i64 received) {
            filled[q] += received;
            if (q != me) buffers[q].count = 0;
          }};
  exchange_pieces(pieces, item, comm);
  return result;
}

Array bounded_sort(const Array& items, std::span<const i64> counts, const Partition& part,
                   const Communicator& comm, const MemoryBudget& budget) {
  const auto inner = part.starts().subspan(1, part.starts().size() - 2);
  const LocalSplitters splitters = Selection(items, counts, comm, budget).splitters(inner);
  const Array sorted = redistribute(items, splitters, comm, budget);
  sort_in_place(sorted, budget.room);
  return sorted;
}

}  // namespace tessera::dist
