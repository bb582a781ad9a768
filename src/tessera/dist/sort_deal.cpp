// SPDX-License-Identifier: Apache-2.0
// Note [stretches]: positions, unlike values, cannot be sorted where the result lies. What goes to
// a rank is cut into stretches that fit into bounded memory, at values of a sample, or between
// equal items; all ranks make the same cuts, as counting told them everybody's numbers. One stretch
// of every rank is dealt out at a time, for which each rank reads its items once.
#include "tessera/dist/sort_deal.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tessera/dist/at.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/in_place.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr i64 at_once = 1 << 15;  // items whose classes are held
// Of a stretch: what is held beside each item and its copies while its position is found; how many
// times a rank reads its items at most, and how many edges there are (classes have few numbers).
constexpr i64 beside_item = 32, most_rounds = 8, most_edges = 1 << 13;

std::byte* bytes_of(const Array& a) { return static_cast<std::byte*>(a.host_data()); }

template <std::size_t bytes>
struct Item {
  std::byte data[bytes];
};

template <class F>
void with_item(i64 bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Item<1>{});
    case 2: return f(Item<2>{});
    case 4: return f(Item<4>{});
    case 8: return f(Item<8>{});
    default: return f(Item<16>{});
  }
}

// Between which cuts an item lies, by its class; equal items one after the other.
class Intervals {
 public:
  explicit Intervals(const CountedCuts& cuts)
      : cuts_(cuts.at), seen_(at(2 * cuts.bounds.size() + 1), 0) {
    for (std::size_t c = 0; c < seen_.size(); ++c) {
      std::size_t d = 0;
      while (d < cuts_.size() && cuts_[d].bound < static_cast<i64>(c)) ++d;
      first_.push_back(d);
      plain_.push_back(d == cuts_.size() || cuts_[d].bound != static_cast<i64>(c));
    }
  }
  std::size_t of(std::uint16_t c) {
    std::size_t d = first_[c];
    if (plain_[c]) return d;
    const i64 n = seen_[c]++;
    while (d < cuts_.size() && cuts_[d].bound == c && cuts_[d].equals <= n) ++d;
    return d;
  }

 private:
  const std::vector<CountedCuts::Cut>& cuts_;
  std::vector<i64> seen_;
  std::vector<std::size_t> first_;
  std::vector<std::uint8_t> plain_;
};

// A heap of values, and of positions beside them, for each rank; this rank's own lies in the
// result.
struct Heap {
  std::byte* values = nullptr;
  std::byte* positions = nullptr;
  i64 count = 0, most = 0;
};

class Dealer {
 public:
  Dealer(const Array& items, const CountedCuts& cuts, std::span<const int> owners, i64 width,
         std::vector<Heap>& heaps)
      : items_(items),
        bounds_(cuts.bounds),
        owners_(owners),
        intervals_(cuts),
        width_(width),
        heaps_(heaps) {}

  // On to the next items, until a heap is full; false: there are no more.
  bool fill() {
    bool full = false;
    while (!full && next_ < items_.size()) {
      if (next_ >= end_) classify();
      with_item(size_of(items_.dtype()), [&]<class I>(const I&) { full = spread<I>(); });
    }
    return full || next_ < items_.size();
  }

 private:
  void classify() {
    begin_ = next_;
    end_ = std::min(begin_ + at_once, items_.size());
    block_ = items_.slice(0, begin_, end_).contiguous();
    classes_ = classes(block_, bounds_);
  }

  template <class I>
  bool spread() {
    const I* const from = static_cast<const I*>(block_.host_data());
    const std::uint16_t* const c = classes_.host<std::uint16_t>();
    while (next_ < end_) {
      const i64 i = next_++ - begin_;
      const int owner = owners_[intervals_.of(c[i])];
      if (owner < 0) continue;
      Heap& h = heaps_[at(owner)];
      reinterpret_cast<I*>(h.values)[h.count] = from[i];
      if (width_ == 4)
        reinterpret_cast<std::uint32_t*>(h.positions)[h.count] =
            static_cast<std::uint32_t>(begin_ + i);
      else if (width_ == 8)
        reinterpret_cast<i64*>(h.positions)[h.count] = begin_ + i;
      if (++h.count == h.most) return true;
    }
    return false;
  }

  const Array& items_;
  const Array& bounds_;
  std::span<const int> owners_;
  Intervals intervals_;
  i64 width_;
  std::vector<Heap>& heaps_;
  Array block_, classes_;
  i64 begin_ = 0, end_ = 0, next_ = 0;
};

// Items that this rank sends to each.
std::vector<i64> sends_of(const CountedCuts& cuts, std::span<const int> owners, i64 items,
                          int ranks) {
  std::vector<i64> sends(at(ranks), 0);
  for (std::size_t k = 0; k < owners.size(); ++k) {
    const i64 begin = k == 0 ? 0 : cuts.at[k - 1].before,
              end = k < cuts.at.size() ? cuts.at[k].before : items;
    if (owners[k] >= 0) sends[at(owners[k])] += end - begin;
  }
  return sends;
}

// What a rank tells another before a piece travels.
struct Notice {
  i64 items = 0, more = 0;
};

}  // namespace

DealtItems deal_out(const Array& items, const CountedCuts& cuts, std::span<const int> owners,
                    const DealWants& wants, const Communicator& comm, const Bounded& bounded) {
  const std::size_t ranks = at(comm.size()), me = at(comm.rank());
  const i64 item = size_of(items.dtype()), width = !wants.positions               ? 0
                                                   : wants.most <= (i64{1} << 32) ? 4
                                                                                  : 8;
  DealtItems d{{}, {}, routes_of(sends_of(cuts, owners, items.size(), comm.size()), comm)};
  d.values = empty_dense({d.routes.received()}, items.dtype());
  if (width > 0)
    d.positions = empty_dense({d.routes.received()}, width == 4 ? DType::u32 : DType::i64);
  // Whole heaps begin at multiples of 16 bytes.
  const i64 longest = *std::max_element(d.routes.sends.begin(), d.routes.sends.end());
  const i64 fit =
      std::min(std::max<i64>(16, bounded.piece / (item + width) / comm.size() / 16 * 16),
               longest / 16 * 16 + 16);
  const Array room = empty_dense({fit * (item + width) * comm.size()}, DType::u8);
  std::vector<i64> laid(ranks, 0);
  std::partial_sum(d.routes.receives.begin(), d.routes.receives.end() - 1, laid.begin() + 1);
  std::byte* const own = width > 0 ? bytes_of(d.positions) + laid[me] * width : nullptr;
  std::vector<Heap> heaps(ranks);
  for (std::size_t q = 0; q < ranks; ++q) {
    std::byte* const at_q = bytes_of(room) + static_cast<i64>(q) * fit * (item + width);
    heaps[q] = {at_q, at_q + fit * item, 0, fit};
  }
  heaps[me] = {bytes_of(d.values) + laid[me] * item, own, 0, -1};
  Dealer dealer(items, cuts, owners, width, heaps);
  std::vector<Notice> told(ranks), heard(ranks);
  for (bool going_on = true; going_on;) {
    const bool more = dealer.fill();
    for (std::size_t q = 0; q < ranks; ++q) told[q] = {q == me ? 0 : heaps[q].count, more};
    comm.alltoall(told.data(), sizeof(Notice), heard.data());
    std::vector<Block> sends, receives, places, places_here;
    going_on = false;
    for (std::size_t q = 0; q < ranks; ++q) {
      const int r = static_cast<int>(q);
      going_on = going_on || heard[q].more != 0;
      if (q == me) continue;
      const i64 out = heaps[q].count, in = heard[q].items;
      if (out > 0) sends.push_back(Block::dense(r, heaps[q].values, out * item));
      if (in > 0)
        receives.push_back(Block::dense(r, bytes_of(d.values) + laid[q] * item, in * item));
      if (out > 0) places.push_back(Block::dense(r, heaps[q].positions, out * width));
      if (in > 0 && width > 0)
        places_here.push_back(Block::dense(r, bytes_of(d.positions) + laid[q] * width, in * width));
      laid[q] += in;
      heaps[q].count = 0;
    }
    comm.exchange(sends, receives);
    if (width > 0) comm.exchange(places, places_here);
  }
  return d;
}

namespace {

std::vector<int> everybody(int ranks) {
  std::vector<int> all(at(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::span<const i64> inner_starts(const Partition& part) {
  return part.starts().subspan(1, part.starts().size() - 2);
}

// The items that `part` deals to this rank, in order and some at a time, not sorted yet: equal ones
// are in order of their places. f(how many came before, what came). Ranks may be called a different
// number of times.
void in_stretches(const Array& items, std::span<const i64> counts, const Partition& part,
                  const Communicator& comm, const Bounded& bounded,
                  const std::function<void(i64, DealtItems)>& f) {
  const i64 longest = *std::max_element(counts.begin(), counts.end()), total = part.size();
  const i64 fit = std::max({i64{1}, bounded.room / (3 * size_of(items.dtype()) + beside_item),
                            longest / most_rounds, total / most_edges});
  Counted all(items, counts, comm, bounded);
  const std::vector<CountedEdge> edges = all.stretches(part, fit);
  std::vector<std::vector<std::size_t>> of_rank(at(comm.size()));  // edges that end a stretch
  for (std::size_t k = 0; k + 1 < edges.size(); ++k)
    for (int r = 0; r < comm.size(); ++r)
      if (edges[k].place >= part.begin(r) && edges[k + 1].place <= part.end(r) &&
          edges[k].place < edges[k + 1].place)
        of_rank[at(r)].push_back(k);
  std::size_t rounds = 0;
  for (const auto& list : of_rank) rounds = std::max(rounds, list.size());
  i64 before = 0;
  for (std::size_t k = 0; k < rounds; ++k) {
    std::vector<CountedEdge> some;
    std::vector<int> owners{-1};
    for (int r = 0; r < comm.size(); ++r) {
      if (k >= of_rank[at(r)].size()) continue;
      const std::size_t e = of_rank[at(r)][k];
      some.push_back(edges[e]);
      owners.push_back(r);
      some.push_back(edges[e + 1]);
      owners.push_back(-1);
    }
    DealtItems d = deal_out(items, all.cuts_at(some), owners, {true, longest}, comm, bounded);
    const i64 n = d.values.size();
    if (n > 0) f(before, std::move(d));
    before += n;
  }
}

}  // namespace

Array sort_counted(const Array& items, std::span<const i64> counts, const Partition& part,
                   const Communicator& comm, const Bounded& bounded) {
  const CountedCuts cuts = Counted(items, counts, comm, bounded).cuts(inner_starts(part));
  const Array sorted = deal_out(items, cuts, everybody(comm.size()), {}, comm, bounded).values;
  sort_in_place(sorted, bounded.room);
  return sorted;
}

Array argsort_counted(const Array& items, std::span<const i64> counts, const Partition& part,
                      const Communicator& comm, const Bounded& bounded) {
  const Array result = empty_dense({part.count(comm.rank())}, DType::i64);
  std::vector<i64> starts(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  in_stretches(items, counts, part, comm, bounded, [&](i64 before, DealtItems d) {
    const Array order = tessera::argsort(d.values);
    d.values = Array();
    const Array places = shifted(d.positions, d.routes, starts);
    result.slice(0, before, before + places.size()).copy_from(take(places, order, 0));
  });
  return result;
}

}  // namespace tessera::dist
