// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/entry_push.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

std::span<const i64> numbers(const Array& ids) { return {ids.host<i64>(), to_index(ids.size())}; }

// Every rank knows all places and the whole value: each writes its own.
void write_own(const EntryRows& rows, const Array& ids, const ValueRows& value, int me) {
  const i64 first = rows.first_id(me), last = first + rows.radix(me);
  std::vector<i64> places, entries;
  const std::span<const i64> all = numbers(ids);
  for (std::size_t j = 0; j < all.size(); ++j)
    if (all[j] >= first && all[j] < last) {
      places.push_back(all[j]);
      entries.push_back(static_cast<i64>(j));
    }
  if (!places.empty()) rows.write(places, value.varies() ? value.rows(entries) : value.one_row());
}

struct Outgoing {
  std::vector<Array> held;
  std::vector<Block> blocks;
  void add(int rank, const Array& rows) {
    if (rows.bytes() == 0) return;
    held.push_back(on_host_dense(rows));
    blocks.push_back(Block::dense(rank, held.back().host_data(), held.back().bytes()));
  }
};

// Every rank knows all places, some ranks have the value. Each pair of ranks knows what it
// exchanges: every row of the value that the one has and the other needs, once.
class KnownPush {
 public:
  KnownPush(const DNDarray& x, const NormalKey& key, const EntryRows& rows, const DNDarray& value)
      : x_(x), rows_(rows), value_(value), own_(value, key.plan) {
    const Array ids = rows.ids(key.plan.arrays, key.plan.lead);
    const Winners all = winners(numbers(ids));
    bounds_ = owner_bounds(all.ids, x.part(), rows.ids_per_entry());
    ids_ = all.ids;
    entries_ = all.entry;
  }

  void run() {
    const Communicator& comm = x_.comm();
    const int me = comm.rank();
    Outgoing out;
    std::vector<Block> in;
    std::vector<std::pair<Share, Array>> arrived;
    for (int r = 0; r < comm.size(); ++r) {
      const Share given = share(me, r), taken = share(r, me);
      if (r != me) {
        if (!given.ids.empty()) out.add(r, rows_of(given));
        if (taken.ids.empty()) continue;
        const Array buffer = empty_dense(shape_of(taken), value_.dtype(), cpu);
        if (buffer.bytes() > 0) in.push_back(Block::dense(r, buffer.host_data(), buffer.bytes()));
        arrived.emplace_back(taken, buffer);
      } else if (!taken.ids.empty()) {
        arrived.emplace_back(taken, rows_of(taken));
      }
    }
    comm.exchange(out.blocks, in);
    for (const auto& [share, rows] : arrived) write(share, rows.to(x_.device()));
  }

  Movement movement() const {
    const int p = x_.comm().size();
    Movement m;
    m.sent.assign(to_index(p), 0);
    for (int holder = 0; holder < p; ++holder)
      for (int owner = 0; owner < p; ++owner) {
        if (holder == owner) continue;
        const i64 bytes = count_of(shape_of(share(holder, owner))) * size_of(value_.dtype());
        m.messages += bytes > 0;
        m.sent[to_index(holder)] += bytes;
        m.bytes += bytes;
      }
    return m;
  }

 private:
  // The places of `owner` whose values `holder` has; which of `rows`, numbers of the holder's own
  // rows, each of them gets.
  struct Share {
    int holder = 0;
    std::vector<i64> ids;
    Distinct rows;
  };
  Share share(int holder, int owner) const {
    Share s{holder, {}, {}};
    std::vector<i64> wanted;
    for (i64 k = bounds_[to_index(owner)]; k < bounds_[to_index(owner) + 1]; ++k) {
      if (!own_.holds(holder, entries_[to_index(k)])) continue;
      s.ids.push_back(ids_[to_index(k)]);
      wanted.push_back(own_.row(entries_[to_index(k)], holder));
    }
    s.rows = distinct(wanted);
    return s;
  }
  Array rows_of(const Share& s) const {
    return own_.rows(value_.resident(), s.holder).rows(s.rows.ids);
  }
  Shape shape_of(const Share& s) const {
    Shape shape{static_cast<i64>(s.rows.ids.size())};
    shape.append(own_.rest(s.holder));
    return shape;
  }
  void write(const Share& s, const Array& rows) const {
    const bool one = s.rows.ids.size() == 1;  // for all places
    const Array each = one ? rows : take(rows, list_of(s.rows.slot.all()).to(rows.device()), 0);
    if (own_.rest_axis() >= 0)
      rows_.write_slab(s.ids, each, own_.rest_axis(), own_.begin(s.holder));
    else
      rows_.write(s.ids, each);
  }

  const DNDarray& x_;
  const EntryRows& rows_;
  const DNDarray& value_;
  const OwnRows own_;
  NumberList ids_, entries_;
  std::vector<i64> bounds_;
};

}  // namespace

Movement known_push(const DNDarray& x, const NormalKey& key, const DNDarray& value) {
  const EntryRows rows(x, key);
  return KnownPush(x, key, rows, value).movement();
}

void push_rows(const DNDarray& x, const NormalKey& key, const RoutePlan& plan,
               const DNDarray& value) {
  const EntryRows rows(x, key);
  if (plan.ask) {
    push_asked(rows, key, plan.lead_axis, plan.distribution.part, value);
    return;
  }
  if (value.split() || !value.known()) {
    KnownPush(x, key, rows, value).run();
    return;
  }
  const Array ids = rows.ids(key.plan.arrays, key.plan.lead);
  write_own(rows, ids, {value.local(), plan.shape, key.plan.lead, key.plan.position},
            x.comm().rank());
}

}  // namespace tessera::dist
