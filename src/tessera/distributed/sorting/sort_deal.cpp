// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/sort_deal.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/distributed/sorting/sort_exchange.hpp"
#include "tessera/distributed/sorting/sort_intervals.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/in_place.hpp"

namespace tessera::dist {
namespace {

constexpr i64 dealt_at_once = 1 << 15;  // items whose classes are held

// Items for each rank; this rank's own lie in the result.
struct Heap {
  std::byte* values = nullptr;
  i64 count = 0, most = 0;
};

class Dealer {
 public:
  Dealer(const Array& items, const CountedCuts& cuts, std::vector<Heap>& heaps)
      : items_(items), bounds_(cuts.bounds), intervals_(cuts), heaps_(heaps) {}

  // On to the next items, until a heap is full; false: there are no more.
  bool fill() {
    bool full = false;
    while (!full && next_ < items_.size()) {
      if (next_ >= end_) classify();
      with_item(size_of(items_.dtype()), [&]<class I>(const I&) { full = distribution<I>(); });
    }
    return full || next_ < items_.size();
  }

 private:
  void classify() {
    begin_ = next_;
    end_ = std::min(begin_ + dealt_at_once, items_.size());
    block_ = items_.slice(0, begin_, end_).contiguous();
    classes_ = classes(block_, bounds_);
  }

  template <class I>
  bool distribution() {
    const I* const from = static_cast<const I*>(block_.host_data());
    const std::uint16_t* const c = classes_.host<std::uint16_t>();
    while (next_ < end_) {
      const i64 i = next_++ - begin_;
      Heap& h = heaps_[intervals_.of(c[i])];
      reinterpret_cast<I*>(h.values)[h.count] = from[i];
      if (++h.count == h.most) return true;
    }
    return false;
  }

  const Array& items_;
  const Array& bounds_;
  Intervals intervals_;
  std::vector<Heap>& heaps_;
  Array block_, classes_;
  i64 begin_ = 0, end_ = 0, next_ = 0;
};

// Items that this rank sends to each.
std::vector<i64> sends_of(const CountedCuts& cuts, i64 items) {
  std::vector<i64> sends;
  i64 begin = 0;
  for (const CountedCuts::Cut& cut : cuts.at) {
    sends.push_back(cut.before - begin);
    begin = cut.before;
  }
  sends.push_back(items - begin);
  return sends;
}

// What a rank tells another before a piece travels.
struct Notice {
  i64 items = 0, more = 0;
};

}  // namespace

Array deal_out(const Array& items, const CountedCuts& cuts, const Communicator& comm,
               const Bounded& bounded) {
  const std::size_t ranks = to_index(comm.size()), me = to_index(comm.rank());
  const i64 item = size_of(items.dtype());
  const Routes routes = routes_of(sends_of(cuts, items.size()), comm);
  const Array dealt = empty_dense({routes.received()}, items.dtype());
  // Whole heaps begin at multiples of 16 bytes.
  const i64 longest = *std::max_element(routes.sends.begin(), routes.sends.end());
  const i64 fit = std::min(std::max<i64>(16, bounded.piece / item / comm.size() / 16 * 16),
                           longest / 16 * 16 + 16);
  const Array room = empty_dense({fit * item * comm.size()}, DType::u8);
  std::vector<i64> laid(ranks, 0);
  std::partial_sum(routes.receives.begin(), routes.receives.end() - 1, laid.begin() + 1);
  std::vector<Heap> heaps(ranks);
  for (std::size_t q = 0; q < ranks; ++q)
    heaps[q] = {bytes_of(room) + static_cast<i64>(q) * fit * item, 0, fit};
  heaps[me] = {bytes_of(dealt) + laid[me] * item, 0, -1};
  Dealer dealer(items, cuts, heaps);
  std::vector<Notice> told(ranks), heard(ranks);
  for (bool going_on = true; going_on;) {
    const bool more = dealer.fill();
    for (std::size_t q = 0; q < ranks; ++q) told[q] = {q == me ? 0 : heaps[q].count, more};
    comm.alltoall(told.data(), sizeof(Notice), heard.data());
    std::vector<Block> sends, receives;
    going_on = false;
    for (std::size_t q = 0; q < ranks; ++q) {
      const int r = static_cast<int>(q);
      going_on = going_on || heard[q].more != 0;
      if (q == me) continue;
      const i64 out = heaps[q].count, in = heard[q].items;
      if (out > 0) sends.push_back(Block::dense(r, heaps[q].values, out * item));
      if (in > 0) receives.push_back(Block::dense(r, bytes_of(dealt) + laid[q] * item, in * item));
      laid[q] += in;
      heaps[q].count = 0;
    }
    comm.exchange(sends, receives);
  }
  return dealt;
}

Array sort_counted(const Array& items, std::span<const i64> counts, const Partition& part,
                   const Communicator& comm, const Bounded& bounded) {
  const auto inner = part.starts().subspan(1, part.starts().size() - 2);
  const CountedCuts cuts = Counted(items, counts, comm, bounded).cuts(inner);
  const Array sorted = deal_out(items, cuts, comm, bounded);
  sort_in_place(sorted, bounded.room);
  return sorted;
}

}  // namespace tessera::dist
