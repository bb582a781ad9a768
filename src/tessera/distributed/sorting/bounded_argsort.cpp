// SPDX-License-Identifier: Apache-2.0
// Note [bounded argsort]: what goes to a rank is split into buckets that can be sorted in little
// memory, at values of a sample, or between equal items; all ranks find the same splitters, as
// counting told them everybody's numbers. Each item travels to its bucket: its position lies where
// the result will be, its value, which is needed until the bucket is sorted, in the part of the
// result that comes later. So a round takes the first half of what is left, for which each rank
// reads its items once and looks closely at those that may be meant; the last bucket alone has its
// values elsewhere.
#include "tessera/distributed/sorting/bounded_argsort.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/distributed/sorting/bounded_argsort_exchange.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Of a bucket: what is held beside each item and its copies while it is sorted, how many times
// that is kept for buckets of other lengths, and how many splitters there are at most (classes have
// few numbers).
constexpr i64 beside_item = 32, lengths = 8, most_splitters = 1 << 12;

struct Bucket {
  std::size_t splitter;  // and the next one
  i64 begin, end;        // positions in the result of all ranks
};
using Buckets = std::vector<Bucket>;

// By rank.
std::vector<Buckets> buckets_of(const std::vector<Splitter>& splitters, const Partition& part) {
  std::vector<Buckets> all(to_index(part.ranks()));
  int r = 0;
  for (std::size_t k = 0; k + 1 < splitters.size(); ++k) {
    const i64 begin = splitters[k].position, end = splitters[k + 1].position;
    if (begin == end) continue;
    while (begin >= part.end(r)) ++r;
    all[to_index(r)].push_back({k, begin, end});
  }
  return all;
}

// How far a round goes from bucket `first` on: the values of all fit behind them, or it is one.
std::size_t end_of_round(const Buckets& list, std::size_t first, i64 item) {
  std::size_t last = first;
  const auto fits = [&](const Bucket& s) {
    return (s.end - list[first].begin + 1) * item <=
           (list.back().end - s.end) * static_cast<i64>(sizeof(i64));
  };
  while (last < list.size() && fits(list[last])) ++last;
  return std::max(last, std::min(first + 1, list.size()));
}

// The rounds of the note, one after the other.
class BoundedArgsort {
 public:
  BoundedArgsort(const Array& items, std::span<const i64> counts, const Partition& part,
                 const Communicator& comm, const MemoryBudget& budget)
      : items_(items),
        comm_(comm),
        budget_(budget),
        result_(empty_dense({part.count(comm.rank())}, DType::i64)),
        begin_(part.begin(comm.rank())),
        all_(items, counts, comm, budget),
        starts_(counts.size(), 0),
        done_(counts.size(), 0) {
    std::partial_sum(counts.begin(), counts.end() - 1, starts_.begin() + 1);
    wide_ = *std::max_element(counts.begin(), counts.end()) > i64{1} << 32;
    const i64 fit =
        std::max({i64{1}, budget.room / (3 * size_of(items.dtype()) + beside_item) / lengths,
                  part.size() / most_splitters});
    splitters_ = all_.bucket_splitters(part, fit);
    lists_ = buckets_of(splitters_, part);
  }

  Array run() {
    for (;;) {
      std::vector<std::size_t> ends;
      bool left = false;
      for (std::size_t r = 0; r < lists_.size(); ++r) {
        ends.push_back(end_of_round(lists_[r], done_[r], size_of(items_.dtype())));
        left = left || done_[r] < lists_[r].size();
      }
      if (!left) return result_;
      round(ends);
      done_ = ends;
    }
  }

 private:
  const Buckets& mine() const { return lists_[to_index(comm_.rank())]; }

  RoundSplitters splitters_of(const std::vector<std::size_t>& ends) const {
    std::vector<Splitter> all, around;
    RoundSplitters splitters;
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      if (done_[r] == ends[r]) continue;
      around.push_back(splitters_[lists_[r][done_[r]].splitter]);
      around.push_back(splitters_[lists_[r][ends[r] - 1].splitter + 1]);
      for (std::size_t k = done_[r]; k < ends[r]; ++k) {
        const std::size_t splitter = lists_[r][k].splitter;
        splitters.destinations.push_back({});
        all.push_back(splitters_[splitter]);
        splitters.destinations.push_back(
            {static_cast<int>(r), static_cast<std::uint16_t>(k - done_[r])});
        all.push_back(splitters_[splitter + 1]);
      }
    }
    splitters.destinations.push_back({});
    splitters.ends = all_.localized(around);
    splitters.all = all_.localized(all);
    return splitters;
  }

  void round(const std::vector<std::size_t>& ends) {
    const RoundSplitters splitters = splitters_of(ends);
    const std::size_t me = to_index(comm_.rank()), first = done_[me], last = ends[me];
    const Array values = room_for_values(first, last);
    ReceiveSlots slots;
    slots.starts = starts_;
    slots.next = free_slots(splitters.all, ends);
    if (first < last) {
      slots.values = bytes_of(values);
      slots.positions = result_.host<i64>() + (mine()[first].begin - begin_);
    }
    exchange_buckets(items_, splitters, wide_, slots, comm_, budget_.piece / 2);
    for (std::size_t k = first; k < last; ++k) sort_bucket(values, mine()[first], mine()[k]);
  }

  // Behind the buckets in the result, or of its own.
  Array room_for_values(std::size_t first, std::size_t last) const {
    if (first == last) return Array();
    const DType dtype = items_.dtype();
    const i64 item = size_of(dtype), end = mine()[last - 1].end - begin_,
              count = end + begin_ - mine()[first].begin,
              offset = (end * static_cast<i64>(sizeof(i64)) + item - 1) / item;
    if ((offset + count) * item > result_.bytes()) return empty_dense({count}, dtype);
    Layout layout = Layout::contiguous({count});
    layout.offset = offset;
    return Array(result_.storage(), layout, dtype);
  }

  // The slots of this rank by sender and bucket: each rank says how many items it has of each.
  std::vector<std::vector<i64>> free_slots(const LocalSplitters& splitters,
                                           const std::vector<std::size_t>& ends) const {
    const std::size_t ranks = lists_.size(), me = to_index(comm_.rank());
    std::vector<std::vector<i64>> out(ranks), in(ranks);
    std::vector<Block> sends, receives;
    std::size_t splitter = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t k = done_[r]; k < ends[r]; ++k, splitter += 2)
        out[r].push_back(splitters.at[splitter + 1].before - splitters.at[splitter].before);
      in[r].resize(ends[me] - done_[me]);
      const int q = static_cast<int>(r);
      sends.push_back(
          Block::dense(q, out[r].data(), static_cast<i64>(out[r].size() * sizeof(i64))));
      receives.push_back(
          Block::dense(q, in[r].data(), static_cast<i64>(in[r].size() * sizeof(i64))));
    }
    comm_.exchange(sends, receives);
    i64 slot = 0;
    for (std::size_t k = 0; k < in[me].size(); ++k)
      for (std::size_t r = 0; r < ranks; ++r) slot += std::exchange(in[r][k], slot);
    return in;
  }

  void sort_bucket(const Array& values, const Bucket& first, const Bucket& s) const {
    const Array order =
        tessera::argsort(values.slice(0, s.begin - first.begin, s.end - first.begin));
    const Array positions = result_.slice(0, s.begin - begin_, s.end - begin_);
    positions.copy_from(take(positions, order, 0));
  }

  const Array& items_;
  const Communicator& comm_;
  MemoryBudget budget_;
  Array result_;
  i64 begin_;  // of this rank's part of the result
  Selection all_;
  std::vector<i64> starts_;
  bool wide_ = false;
  std::vector<Splitter> splitters_;
  std::vector<Buckets> lists_;
  std::vector<std::size_t> done_;  // buckets by rank
};

}  // namespace

Array bounded_argsort(const Array& items, std::span<const i64> counts, const Partition& part,
                      const Communicator& comm, const MemoryBudget& budget) {
  return BoundedArgsort(items, counts, part, comm, budget).run();
}

}  // namespace tessera::dist
