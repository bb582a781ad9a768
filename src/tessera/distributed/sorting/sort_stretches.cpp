// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/sort_stretches.hpp"

#include <algorithm>

#include "tessera/distributed/sorting/sort_intervals.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/classes.hpp"

namespace tessera::dist {
namespace {

constexpr i64 placed_at_once = 1 << 15;  // items whose classes are held

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

// By class among the ends: whether items may be meant. Those that equal an end may, so that of
// equal items all are seen or none.
std::vector<std::uint8_t> looked_at(const CountedCuts& ends) {
  std::vector<std::uint8_t> look(to_index(2 * ends.bounds.size() + 1), 0);
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
        places_(to_index(found_.size())) {}

  // f(item, place, goal) says whether to go on; false when there are no more items.
  template <class F>
  bool each(F&& f) {
    for (;;) {
      const I* const from = static_cast<const I*>(found_.host_data());
      const std::uint16_t* const c = count_ > 0 ? classes_.host<std::uint16_t>() : nullptr;
      while (next_ < count_) {
        const std::size_t i = to_index(next_++);
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
      places_[to_index(count_)] = begin_ + i;
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
        filled_(to_index(comm.size()), 0) {}

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
        land(to_index(me), record);
        return true;
      }
      i64& n = filled_[to_index(goal.rank)];
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

}  // namespace

void deal_to_stretches(const Array& items, const RoundCuts& cuts, bool wide, Landing& landing,
                       const Communicator& comm, i64 piece) {
  with_item(size_of(items.dtype()), [&]<class I>(const I&) {
    if (wide)
      Deal<I, i64>(items, cuts, landing, comm, piece).run();
    else
      Deal<I, std::uint32_t>(items, cuts, landing, comm, piece).run();
  });
}

}  // namespace tessera::dist
