// SPDX-License-Identifier: Apache-2.0
// Note [stretches]: what goes to a rank is cut into stretches that can be sorted in little memory,
// at values of a sample, or between equal items; all ranks make the same cuts, as counting told
// them everybody's numbers. Each item is dealt to its stretch: its position lies where the result
// will be, its value, which is needed until the stretch is sorted, in the part of the result that
// comes later. So a round takes the first half of what is left, for which each rank reads its items
// once and looks closely at those that may be meant; the last stretch alone has its values
// elsewhere.
#include "tessera/distributed/sorting/sort_places.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/distributed/sorting/sort_stretches.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Of a stretch: what is held beside each item and its copies while it is sorted, how many times
// that is kept for stretches of other lengths, and how many edges there are at most (classes have
// few numbers).
constexpr i64 beside_item = 32, lengths = 8, most_edges = 1 << 12;

struct Stretch {
  std::size_t edge;  // and the next one
  i64 begin, end;    // places in the result of all ranks
};
using Stretches = std::vector<Stretch>;

// By rank.
std::vector<Stretches> stretches_of(const std::vector<CountedEdge>& edges, const Partition& part) {
  std::vector<Stretches> all(to_index(part.ranks()));
  int r = 0;
  for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
    const i64 begin = edges[k].place, end = edges[k + 1].place;
    if (begin == end) continue;
    while (begin >= part.end(r)) ++r;
    all[to_index(r)].push_back({k, begin, end});
  }
  return all;
}

// How far a round goes from stretch `first` on: the values of all fit behind them, or it is one.
std::size_t end_of_round(const Stretches& list, std::size_t first, i64 item) {
  std::size_t last = first;
  const auto fits = [&](const Stretch& s) {
    return (s.end - list[first].begin + 1) * item <=
           (list.back().end - s.end) * static_cast<i64>(sizeof(i64));
  };
  while (last < list.size() && fits(list[last])) ++last;
  return std::max(last, std::min(first + 1, list.size()));
}

// The rounds of the note, one after the other.
class ArgsortByStretches {
 public:
  ArgsortByStretches(const Array& items, std::span<const i64> counts, const Partition& part,
                     const Communicator& comm, const Bounded& bounded)
      : items_(items),
        comm_(comm),
        bounded_(bounded),
        result_(empty_dense({part.count(comm.rank())}, DType::i64)),
        begin_(part.begin(comm.rank())),
        all_(items, counts, comm, bounded),
        starts_(counts.size(), 0),
        done_(counts.size(), 0) {
    std::partial_sum(counts.begin(), counts.end() - 1, starts_.begin() + 1);
    wide_ = *std::max_element(counts.begin(), counts.end()) > i64{1} << 32;
    const i64 fit =
        std::max({i64{1}, bounded.room / (3 * size_of(items.dtype()) + beside_item) / lengths,
                  part.size() / most_edges});
    edges_ = all_.stretches(part, fit);
    lists_ = stretches_of(edges_, part);
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
  const Stretches& mine() const { return lists_[to_index(comm_.rank())]; }

  RoundCuts cuts_of(const std::vector<std::size_t>& ends) const {
    std::vector<CountedEdge> all, around;
    RoundCuts cuts;
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      if (done_[r] == ends[r]) continue;
      around.push_back(edges_[lists_[r][done_[r]].edge]);
      around.push_back(edges_[lists_[r][ends[r] - 1].edge + 1]);
      for (std::size_t k = done_[r]; k < ends[r]; ++k) {
        const std::size_t edge = lists_[r][k].edge;
        cuts.goals.push_back({});
        all.push_back(edges_[edge]);
        cuts.goals.push_back({static_cast<int>(r), static_cast<std::uint16_t>(k - done_[r])});
        all.push_back(edges_[edge + 1]);
      }
    }
    cuts.goals.push_back({});
    cuts.ends = all_.cuts_at(around);
    cuts.all = all_.cuts_at(all);
    return cuts;
  }

  void round(const std::vector<std::size_t>& ends) {
    const RoundCuts cuts = cuts_of(ends);
    const std::size_t me = to_index(comm_.rank()), first = done_[me], last = ends[me];
    const Array values = room_for_values(first, last);
    Landing landing;
    landing.starts = starts_;
    landing.next = slots(cuts.all, ends);
    if (first < last) {
      landing.values = bytes_of(values);
      landing.places = result_.host<i64>() + (mine()[first].begin - begin_);
    }
    deal_to_stretches(items_, cuts, wide_, landing, comm_, bounded_.piece / 2);
    for (std::size_t k = first; k < last; ++k) sort_stretch(values, mine()[first], mine()[k]);
  }

  // Behind the stretches in the result, or of its own.
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

  // The slots of this rank by sender and stretch: each rank says how many items it has of each.
  std::vector<std::vector<i64>> slots(const CountedCuts& cuts,
                                      const std::vector<std::size_t>& ends) const {
    const std::size_t ranks = lists_.size(), me = to_index(comm_.rank());
    std::vector<std::vector<i64>> out(ranks), in(ranks);
    std::vector<Block> sends, receives;
    std::size_t cut = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t k = done_[r]; k < ends[r]; ++k, cut += 2)
        out[r].push_back(cuts.at[cut + 1].before - cuts.at[cut].before);
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

  void sort_stretch(const Array& values, const Stretch& first, const Stretch& s) const {
    const Array order =
        tessera::argsort(values.slice(0, s.begin - first.begin, s.end - first.begin));
    const Array places = result_.slice(0, s.begin - begin_, s.end - begin_);
    places.copy_from(take(places, order, 0));
  }

  const Array& items_;
  const Communicator& comm_;
  Bounded bounded_;
  Array result_;
  i64 begin_;  // of this rank's part of the result
  Counted all_;
  std::vector<i64> starts_;
  bool wide_ = false;
  std::vector<CountedEdge> edges_;
  std::vector<Stretches> lists_;
  std::vector<std::size_t> done_;  // stretches by rank
};

}  // namespace

Array argsort_counted(const Array& items, std::span<const i64> counts, const Partition& part,
                      const Communicator& comm, const Bounded& bounded) {
  return ArgsortByStretches(items, counts, part, comm, bounded).run();
}

}  // namespace tessera::dist
