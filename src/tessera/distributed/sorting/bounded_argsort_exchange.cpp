// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/bounded_argsort_exchange.hpp"

#include <algorithm>

#include "tessera/distributed/sorting/bucket_of.hpp"
#include "tessera/distributed/sorting/exchange.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/classes.hpp"

namespace tessera::dist {
namespace {

constexpr i64 read_at_once = 1 << 15;  // items whose classes are held

template <class I, class P>
struct [[gnu::packed]] Record {
  I value;
  P position;  // in the block of the sender
  std::uint16_t bucket;
};

// By class among the ends: whether items may be meant. Those that equal an end may, so that of
// equal items all are seen or none.
std::vector<std::uint8_t> looked_at(const LocalSplitters& ends) {
  std::vector<std::uint8_t> look(to_index(2 * ends.bounds.size() + 1), 0);
  for (std::size_t c = 0; c < look.size(); ++c) {
    const i64 number = static_cast<i64>(c);
    look[c] = number % 2 == 1;
    for (std::size_t k = 0; k + 1 < ends.at.size(); k += 2)
      look[c] |= ends.at[k].bound < number && number < ends.at[k + 1].bound;
  }
  return look;
}

// Items of this rank one after the other, with where they go.
template <class I>
class ItemReader {
 public:
  ItemReader(const Array& items, const RoundSplitters& splitters)
      : items_(items),
        splitters_(splitters),
        look_(looked_at(splitters.ends)),
        bucket_of_(splitters.all),
        found_(empty_dense({std::min(read_at_once, items.size())}, items.dtype())),
        positions_(to_index(found_.size())) {}

  // f(item, position, destination) says whether to go on; false when there are no more items.
  template <class F>
  bool each(F&& f) {
    for (;;) {
      const I* const from = static_cast<const I*>(found_.host_data());
      const std::uint16_t* const c = count_ > 0 ? classes_.host<std::uint16_t>() : nullptr;
      while (next_ < count_) {
        const std::size_t i = to_index(next_++);
        const Destination& to = splitters_.destinations[bucket_of_(c[i])];
        if (to.rank >= 0 && !f(from[i], positions_[i], to)) return true;
      }
      if (begin_ == items_.size()) return false;
      find();
    }
  }

 private:
  void find() {
    const i64 end = std::min(begin_ + read_at_once, items_.size());
    const Array block = items_.slice(0, begin_, end).contiguous();
    const Array roughly = classes(block, splitters_.ends.bounds);
    const std::uint16_t* const c = roughly.host<std::uint16_t>();
    const I* const from = static_cast<const I*>(block.host_data());
    I* const to = static_cast<I*>(found_.host_data());
    next_ = count_ = 0;
    for (i64 i = 0; i < end - begin_; ++i) {
      to[count_] = from[i];
      positions_[to_index(count_)] = begin_ + i;
      count_ += look_[c[i]];
    }
    classes_ = classes(found_.slice(0, 0, count_), splitters_.all.bounds);
    begin_ = end;
  }

  const Array& items_;
  const RoundSplitters& splitters_;
  std::vector<std::uint8_t> look_;
  BucketOf bucket_of_;
  Array found_, classes_;
  std::vector<i64> positions_;
  i64 begin_ = 0, next_ = 0, count_ = 0;
};

template <class I, class P>
class BucketExchange {
 public:
  using R = Record<I, P>;
  BucketExchange(const Array& items, const RoundSplitters& splitters, ReceiveSlots& slots,
                 const Communicator& comm, i64 piece)
      : reader_(items, splitters),
        slots_(slots),
        comm_(comm),
        fit_(std::max<i64>(1, piece / static_cast<i64>(sizeof(R)) / comm.size())),
        out_(empty_dense({fit_ * comm.size() * static_cast<i64>(sizeof(R))}, DType::u8)),
        in_(empty_dense(out_.shape(), DType::u8)),
        filled_(to_index(comm.size()), 0) {}

  void run() {
    const auto bytes = [](R* records) { return reinterpret_cast<std::byte*>(records); };
    const PieceExchange pieces{.fill = [&] { return fill(); },
                               .ready = [&](std::size_t q) { return filled_[q]; },
                               .send_from = [&](std::size_t q) { return bytes(buffer(out_, q)); },
                               .receive_at = [&](std::size_t q) { return bytes(buffer(in_, q)); },
                               .done =
                                   [&](std::size_t q, i64 received) {
                                     const R* const records = buffer(in_, q);
                                     for (i64 i = 0; i < received; ++i) store(q, records[i]);
                                     filled_[q] = 0;
                                   }};
    exchange_pieces(pieces, sizeof(R), comm_);
  }

 private:
  R* buffer(const Array& room, std::size_t q) const {
    return static_cast<R*>(room.host_data()) + static_cast<i64>(q) * fit_;
  }

  void store(std::size_t from, const R& record) {
    const i64 slot = slots_.next[from][record.bucket]++;
    reinterpret_cast<I*>(slots_.values)[slot] = record.value;
    slots_.positions[slot] = slots_.starts[from] + static_cast<i64>(record.position);
  }

  // On to the next items, until the records for a rank are as many as may travel; false: there are
  // no more items.
  bool fill() {
    const int me = comm_.rank();
    R* const out = buffer(out_, 0);
    return reader_.each([&](const I& item, i64 position, const Destination& to) {
      const R record{item, static_cast<P>(position), to.bucket};
      if (to.rank == me) {
        store(to_index(me), record);
        return true;
      }
      i64& n = filled_[to_index(to.rank)];
      out[to.rank * fit_ + n] = record;
      return ++n < fit_;
    });
  }

  ItemReader<I> reader_;
  ReceiveSlots& slots_;
  const Communicator& comm_;
  i64 fit_;  // records for a rank
  Array out_, in_;
  std::vector<i64> filled_;
};

}  // namespace

void exchange_buckets(const Array& items, const RoundSplitters& splitters, bool wide,
                      ReceiveSlots& slots, const Communicator& comm, i64 piece) {
  with_item(size_of(items.dtype()), [&]<class I>(const I&) {
    if (wide)
      BucketExchange<I, i64>(items, splitters, slots, comm, piece).run();
    else
      BucketExchange<I, std::uint32_t>(items, splitters, slots, comm, piece).run();
  });
}

}  // namespace tessera::dist
