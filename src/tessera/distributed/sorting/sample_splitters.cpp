// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/sample_splitters.hpp"

#include <cstring>
#include <numeric>

#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

// Where a splitter lies among one rank's items: low <= splitter <= high.
struct Interval {
  i64 low = 0, high = 0;
  bool open() const { return low < high; }
  i64 length() const { return high - low; }
};

// Which items of an interval are asked for: all of a short one, else `most`, evenly spaced.
struct Sampling {
  i64 most = 8;
  i64 count(const Interval& v) const { return std::min(v.length(), most); }
  i64 position(const Interval& v, i64 i) const {
    if (v.length() <= most) return v.low + i;
    return v.low + (i + 1) * v.length() / (most + 1);
  }
};

// About half a percent of what a sort moves per round; few rounds for much data. Of little data a
// round costs more than its bytes, which may be up to half of it.
Sampling sampling_of(i64 total, int ranks) {
  const i64 pairs = i64{ranks} * ranks;
  return {
      std::clamp<i64>(total / (160 * pairs), std::clamp<i64>(total / (2 * pairs), 8, 32), 1024)};
}

// What a rank is told of its samples: so many lie before the splitter, and those from `after` on do
// not. Every rank hears from all who look after a splitter whether they will ask again.
struct Verdict {
  std::uint16_t before = 0, after = 0;
};
struct Reply {
  Verdict verdict;
  std::uint16_t more = 0;  // some rank's interval is still open
};

void apply(Interval& v, const Verdict& told, const Sampling& sampling) {
  const Interval old = v;
  if (told.before > 0) v.low = sampling.position(old, told.before - 1) + 1;
  if (told.after < sampling.count(old)) v.high = sampling.position(old, told.after);
}

// The bounds of Note [splitters by samples]: samples are visited in order, and for each the number
// of items before it lies between `low` and `high`. Bounds are kept within the intervals, which
// changes no verdict: an item beyond an interval is on the same side of the splitter as the
// interval's end.
std::vector<Verdict> judge(std::span<const Interval> known, const Sampling& sampling, i64 target,
                           const Array& order) {
  const std::size_t ranks = known.size();
  std::vector<Verdict> told(ranks);
  std::vector<std::size_t> rank_of;
  std::vector<i64> passed(ranks, 0);
  auto lower = [&](std::size_t r) {
    return passed[r] ? sampling.position(known[r], passed[r] - 1) + 1 : known[r].low;
  };
  auto upper = [&](std::size_t r) {
    return passed[r] < sampling.count(known[r]) ? sampling.position(known[r], passed[r])
                                                : known[r].high;
  };
  i64 low = 0, high = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const i64 count = sampling.count(known[r]);
    rank_of.insert(rank_of.end(), to_index(count), r);
    told[r].after = static_cast<std::uint16_t>(count);
    low += lower(r);
    high += upper(r);
  }
  const i64* const visit = order.host<i64>();
  for (std::size_t k = 0; k < rank_of.size(); ++k) {
    const std::size_t r = rank_of[to_index(visit[k])];
    const i64 position = sampling.position(known[r], passed[r]), least = low - lower(r) + position;
    if (high < target)
      told[r].before = static_cast<std::uint16_t>(passed[r] + 1);
    else if (least >= target)
      told[r].after = std::min(told[r].after, static_cast<std::uint16_t>(passed[r]));
    low = least + 1;
    high -= position;
    ++passed[r];
    high += upper(r);
  }
  return told;
}

class Search {
 public:
  Search(const Array& sorted, std::span<const i64> counts, std::span<const i64> targets,
         bool descending, const Communicator& comm)
      : sorted_(sorted),
        comm_(comm),
        descending_(descending),
        item_(size_of(sorted.dtype())),
        mine_(targets.size()),
        known_(counts.size()) {
    const i64 total = std::accumulate(counts.begin(), counts.end(), i64{0});
    sampling_ = sampling_of(total, comm.size());
    std::vector<Interval> all;
    for (const i64 n : counts) all.push_back({0, n});
    Array order;  // of the first samples, which are the same for all splitters and go to all ranks
    for (std::size_t k = 0; k < targets.size(); ++k) {
      std::vector<Interval> known(counts.size());
      for (std::size_t r = 0; r < counts.size(); ++r)
        known[r] = whole(targets[k], total, counts[r]);
      if (targets[k] > 0 && targets[k] < total) {
        if (!order) order = stable_order(first_samples(all), 0, descending).contiguous();
        const std::vector<Verdict> told = judge(known, sampling_, targets[k], order);
        for (std::size_t r = 0; r < known.size(); ++r) apply(known[r], told[r], sampling_);
      }
      more_.push_back(any_open(known));
      mine_[k] = known[to_index(comm.rank())];
      if (k != to_index(comm.rank())) continue;
      target_ = targets[k];
      known_ = std::move(known);
    }
  }

  // The same on all ranks.
  bool open() const { return std::find(more_.begin(), more_.end(), true) != more_.end(); }

  void round() {
    const std::size_t me = to_index(comm_.rank());
    const bool looks = me < more_.size() && more_[me];
    const Array samples = exchange_samples();
    std::vector<Reply> told(known_.size()), heard(mine_.size());
    if (looks) {
      const Array order = stable_order(samples, 0, descending_).contiguous();
      const std::vector<Verdict> verdicts = judge(known_, sampling_, target_, order);
      for (std::size_t r = 0; r < known_.size(); ++r) {
        if (known_[r].open()) apply(known_[r], verdicts[r], sampling_);
        told[r].verdict = verdicts[r];
      }
      for (Reply& reply : told) reply.more = any_open(known_);
      heard[me] = told[me];
    }
    std::vector<Block> sends, receives;
    for (std::size_t r = 0; looks && r < told.size(); ++r)
      if (r != me) sends.push_back(Block::dense(static_cast<int>(r), &told[r], sizeof(Reply)));
    for (std::size_t k = 0; k < heard.size(); ++k)
      if (k != me && more_[k])
        receives.push_back(Block::dense(static_cast<int>(k), &heard[k], sizeof(Reply)));
    comm_.exchange_short(sends, receives);
    for (std::size_t k = 0; k < mine_.size(); ++k) {
      if (mine_[k].open()) apply(mine_[k], heard[k].verdict, sampling_);
      more_[k] = heard[k].more != 0;
    }
  }

  std::vector<i64> splitters() const {
    std::vector<i64> splitters;
    for (const Interval& v : mine_) splitters.push_back(v.low);
    return splitters;
  }

 private:
  static Interval whole(i64 target, i64 total, i64 count) {
    if (target <= 0) return {0, 0};
    if (target >= total) return {count, count};
    return {0, count};
  }

  static bool any_open(const std::vector<Interval>& known) {
    return std::any_of(known.begin(), known.end(), [](const Interval& v) { return v.open(); });
  }

  // This rank's samples for every open splitter, in order of the splitters.
  Array pick(std::span<const Interval> splitters) const {
    std::vector<i64> positions;
    for (const Interval& v : splitters)
      for (i64 i = 0; i < sampling_.count(v); ++i) positions.push_back(sampling_.position(v, i));
    const Array index = empty_dense({static_cast<i64>(positions.size())}, DType::i64);
    std::copy(positions.begin(), positions.end(), index.host<i64>());
    return take(sorted_, index.to(sorted_.device()), 0).to(cpu).contiguous();
  }

  // Of all items of every rank, in order of the ranks.
  Array first_samples(std::span<const Interval> all) const {
    std::vector<i64> bytes;
    i64 count = 0;
    for (const Interval& v : all) {
      bytes.push_back(sampling_.count(v) * item_);
      count += sampling_.count(v);
    }
    const Array in = empty_dense({count}, sorted_.dtype());
    comm_.allgather(pick(all.subspan(to_index(comm_.rank()), 1)).host_data(), bytes,
                    in.host_data());
    return in;
  }

  // The samples of all ranks for the splitter that this rank looks after, in order of the ranks.
  Array exchange_samples() const {
    const Array out = pick(mine_);
    i64 count = 0;
    for (const Interval& v : known_) count += sampling_.count(v);
    const Array in = empty_dense({count}, sorted_.dtype());
    std::vector<Block> sends, receives;
    const std::byte* own = nullptr;
    auto list = [&](std::vector<Block>& blocks, const std::vector<Interval>& intervals,
                    const Array& from) {
      const std::byte* next = static_cast<const std::byte*>(from.host_data());
      for (std::size_t k = 0; k < intervals.size(); ++k) {
        const i64 bytes = sampling_.count(intervals[k]) * item_;
        if (bytes == 0) continue;
        if (static_cast<int>(k) != comm_.rank())
          blocks.push_back(Block::dense(static_cast<int>(k), next, bytes));
        else if (own)
          std::memcpy(const_cast<std::byte*>(next), own, to_index(bytes));
        else
          own = next;
        next += bytes;
      }
    };
    list(sends, mine_, out);
    list(receives, known_, in);
    comm_.exchange_short(sends, receives);
    return in;
  }

  const Array& sorted_;
  const Communicator& comm_;
  bool descending_;
  i64 item_, target_ = 0;
  Sampling sampling_;
  std::vector<Interval> mine_;   // of this rank, by target
  std::vector<Interval> known_;  // by rank, of the target that this rank looks after
  std::vector<bool> more_;       // by target: its rank will ask again
};

}  // namespace

Array stable_order(const Array& x, i64 axis, bool descending) {
  if (!descending || x.size() == 0) return tessera::argsort(x, axis);
  // Turned round, equal items stand last to first: turning the positions round puts both right.
  const Array turned = flip(tessera::argsort(flip(x, {axis}), axis), {axis});
  return ops::subtract(Value(x.shape(axis) - 1), turned);
}

std::vector<i64> find_splitters(const Array& sorted, std::span<const i64> counts,
                                std::span<const i64> targets, bool descending,
                                const Communicator& comm) {
  assert(targets.size() <= to_index(comm.size()) && counts.size() == to_index(comm.size()));
  Search search(sorted, counts, targets, descending, comm);
  while (search.open()) search.round();
  return search.splitters();
}

}  // namespace tessera::dist
