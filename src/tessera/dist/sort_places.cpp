// SPDX-License-Identifier: Apache-2.0
// Note [stretches]: what goes to a rank is cut into stretches that can be sorted in little memory,
// at values of a sample, or between equal items; all ranks make the same cuts, as counting told
// them everybody's numbers. Each item is dealt to its stretch: its position lies where the result
// will be, its value, which is needed until the stretch is sorted, in the part of the result that
// comes later. So a round takes the first half of what is left, for which each rank reads its items
// once and looks closely at those that may be meant; the last stretch alone has its values
// elsewhere.
#include "tessera/dist/sort_places.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/dist/sort_intervals.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::dist {
namespace {

constexpr i64 placed_at_once = 1 << 15;  // items whose classes are held
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
  std::vector<Stretches> all(at(part.ranks()));
  int r = 0;
  for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
    const i64 begin = edges[k].place, end = edges[k + 1].place;
    if (begin == end) continue;
    while (begin >= part.end(r)) ++r;
    all[at(r)].push_back({k, begin, end});
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

// Where items of an interval between cuts go; nowhere in this round: rank -1.
struct Goal {
  int rank = -1;
  std::uint16_t stretch = 0;
};

// Slots of this rank's stretches of a round.
struct Landing {
  i64* places = nullptr;
  std::byte* values = nullptr;
  std::vector<std::vector<i64>> next;  // free slots by sender and stretch
  std::span<const i64> starts;         // the first position of each sender
};

template <class I, class P>
struct [[gnu::packed]] Record {
  I value;
  P place;  // in the block of the sender
  std::uint16_t stretch;
};

// What a rank tells another before records travel.
struct RecordsNotice {
  i64 records = 0, more = 0;
};

// The cuts of a round: around what each rank takes, by which most items are passed over, and
// between all stretches.
struct RoundCuts {
  CountedCuts ends, all;
  std::vector<Goal> goals;  // by interval between all cuts
};

// By class among the ends: whether items may be meant. Those that equal an end may, so that of
// equal items all are seen or none.
std::vector<std::uint8_t> looked_at(const CountedCuts& ends) {
  std::vector<std::uint8_t> look(at(2 * ends.bounds.size() + 1), 0);
  for (std::size_t c = 0; c < look.size(); ++c) {
    const i64 number = static_cast<i64>(c);
    look[c] = number % 2 == 1;
    for (std::size_t k = 0; k + 1 < ends.at.size(); k += 2)
      look[c] |= ends.at[k].bound < number && number < ends.at[k + 1].bound;
  }
  return look;
}

// Items of this rank one after the other, with what they are meant for.
template <class I>
class Reading {
 public:
  Reading(const Array& items, const RoundCuts& cuts)
      : items_(items),
        cuts_(cuts),
        look_(looked_at(cuts.ends)),
        intervals_(cuts.all),
        found_(empty_dense({std::min(placed_at_once, items.size())}, items.dtype())),
        places_(at(found_.size())) {}

  // f(item, place, goal) says whether to go on; false when there are no more items.
  template <class F>
  bool each(F&& f) {
    for (;;) {
      const I* const from = static_cast<const I*>(found_.host_data());
      const std::uint16_t* const c = count_ > 0 ? classes_.host<std::uint16_t>() : nullptr;
      while (next_ < count_) {
        const std::size_t i = at(next_++);
        const Goal& goal = cuts_.goals[intervals_.of(c[i])];
        if (goal.rank >= 0 && !f(from[i], places_[i], goal)) return true;
      }
      if (begin_ == items_.size()) return false;
      find();
    }
  }

 private:
  void find() {
    const i64 end = std::min(begin_ + placed_at_once, items_.size());
    const Array block = items_.slice(0, begin_, end).contiguous();
    const Array roughly = classes(block, cuts_.ends.bounds);
    const std::uint16_t* const c = roughly.host<std::uint16_t>();
    const I* const from = static_cast<const I*>(block.host_data());
    I* const to = static_cast<I*>(found_.host_data());
    next_ = count_ = 0;
    for (i64 i = 0; i < end - begin_; ++i) {
      to[count_] = from[i];
      places_[at(count_)] = begin_ + i;
      count_ += look_[c[i]];
    }
    classes_ = classes(found_.slice(0, 0, count_), cuts_.all.bounds);
    begin_ = end;
  }

  const Array& items_;
  const RoundCuts& cuts_;
  std::vector<std::uint8_t> look_;
  Intervals intervals_;
  Array found_, classes_;
  std::vector<i64> places_;
  i64 begin_ = 0, next_ = 0, count_ = 0;
};

template <class I, class P>
class Deal {
 public:
  using R = Record<I, P>;
  Deal(const Array& items, const RoundCuts& cuts, Landing& landing, const Communicator& comm,
       i64 piece)
      : reading_(items, cuts),
        landing_(landing),
        comm_(comm),
        fit_(std::max<i64>(1, piece / static_cast<i64>(sizeof(R)) / comm.size())),
        out_(empty_dense({fit_ * comm.size() * static_cast<i64>(sizeof(R))}, DType::u8)),
        in_(empty_dense(out_.shape(), DType::u8)),
        filled_(at(comm.size()), 0) {}

  void run() {
    const std::size_t ranks = filled_.size();
    std::vector<RecordsNotice> told(ranks), heard(ranks);
    for (bool going_on = true; going_on;) {
      const bool more = fill();
      for (std::size_t q = 0; q < ranks; ++q) told[q] = {filled_[q], more};
      comm_.alltoall(told.data(), sizeof(RecordsNotice), heard.data());
      std::vector<Block> sends, receives;
      going_on = false;
      for (std::size_t q = 0; q < ranks; ++q) {
        const int r = static_cast<int>(q);
        const i64 size = static_cast<i64>(sizeof(R));
        going_on = going_on || heard[q].more != 0;
        if (told[q].records > 0)
          sends.push_back(Block::dense(r, heap(out_, q), told[q].records * size));
        if (heard[q].records > 0)
          receives.push_back(Block::dense(r, heap(in_, q), heard[q].records * size));
      }
      comm_.exchange(sends, receives);
      for (std::size_t q = 0; q < ranks; ++q)
        for (i64 i = 0; i < heard[q].records; ++i) land(q, heap(in_, q)[i]);
      std::fill(filled_.begin(), filled_.end(), 0);
    }
  }

 private:
  R* heap(const Array& room, std::size_t q) const {
    return static_cast<R*>(room.host_data()) + static_cast<i64>(q) * fit_;
  }

  void land(std::size_t from, const R& record) {
    const i64 slot = landing_.next[from][record.stretch]++;
    reinterpret_cast<I*>(landing_.values)[slot] = record.value;
    landing_.places[slot] = landing_.starts[from] + static_cast<i64>(record.place);
  }

  // On to the next items, until the records for a rank are as many as may travel; false: there are
  // no more items.
  bool fill() {
    const int me = comm_.rank();
    R* const out = heap(out_, 0);
    return reading_.each([&](const I& item, i64 place, const Goal& goal) {
      const R record{item, static_cast<P>(place), goal.stretch};
      if (goal.rank == me) {
        land(at(me), record);
        return true;
      }
      i64& n = filled_[at(goal.rank)];
      out[goal.rank * fit_ + n] = record;
      return ++n < fit_;
    });
  }

  Reading<I> reading_;
  Landing& landing_;
  const Communicator& comm_;
  i64 fit_;  // records for a rank
  Array out_, in_;
  std::vector<i64> filled_;
};

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
  const Stretches& mine() const { return lists_[at(comm_.rank())]; }

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
    const std::size_t me = at(comm_.rank()), first = done_[me], last = ends[me];
    const Array values = room_for_values(first, last);
    Landing landing;
    landing.starts = starts_;
    landing.next = slots(cuts.all, ends);
    if (first < last) {
      landing.values = bytes_of(values);
      landing.places = result_.host<i64>() + (mine()[first].begin - begin_);
    }
    with_item(size_of(items_.dtype()), [&]<class I>(const I&) {
      const i64 piece = bounded_.piece / 2;
      if (wide_)
        Deal<I, i64>(items_, cuts, landing, comm_, piece).run();
      else
        Deal<I, std::uint32_t>(items_, cuts, landing, comm_, piece).run();
    });
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
    const std::size_t ranks = lists_.size(), me = at(comm_.rank());
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
