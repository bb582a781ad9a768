// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/entry_push.hpp"

#include <algorithm>

#include "tessera/dist/value_rows.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

i64 digit(i64 entry, const Shape& lead, i64 axis) {
  for (i64 a = lead.size() - 1; a > axis; --a) entry /= lead[a];
  return entry % lead[axis];
}

std::span<const i64> numbers(const Array& ids) { return {ids.host<i64>(), at(ids.size())}; }

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

// Every rank knows all places; the value is dealt out. Each pair of ranks knows what it exchanges.
class KnownPush {
 public:
  KnownPush(const DNDarray& x, const NormalKey& key, const EntryRows& rows, const DNDarray& value)
      : x_(x), key_(key), rows_(rows), value_(value) {
    const Array ids = rows.ids(key.plan.arrays, key.plan.lead);
    const Winners all = winners(numbers(ids));
    bounds_ = owner_bounds(all.ids, x.part(), rows.ids_per_entry());
    ids_ = all.ids;
    entries_ = all.entry;
    result_axis_ = key.plan.shape.size() - value.ndim() + *value.split();
    const i64 in_lead = result_axis_ - key.plan.position;
    if (in_lead >= 0 && in_lead < key.plan.lead.size()) lead_axis_ = in_lead;
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
        out.add(r, rows_of(given));
        if (taken.ids.empty()) continue;
        const Array buffer = empty_dense(shape_of(taken, r), value_.dtype(), cpu);
        if (buffer.bytes() > 0) in.push_back(Block::dense(r, buffer.host_data(), buffer.bytes()));
        arrived.emplace_back(taken, buffer);
      } else if (!taken.ids.empty()) {
        arrived.emplace_back(taken, rows_of(taken));
      }
    }
    comm.exchange(out.blocks, in);
    for (const auto& [share, rows] : arrived)
      if (lead_axis_ >= 0)
        rows_.write(share.ids, rows.to(x_.device()));
      else
        rows_.write_slab(share.ids, rows.to(x_.device()), rest_axis(), begin(share.holder));
  }

  Movement movement() const {
    const int p = x_.comm().size();
    Movement m;
    m.sent.assign(at(p), 0);
    for (int holder = 0; holder < p; ++holder)
      for (int owner = 0; owner < p; ++owner) {
        if (holder == owner) continue;
        const i64 bytes =
            count_of(shape_of(share(holder, owner), holder)) * size_of(value_.dtype());
        m.messages += bytes > 0;
        m.sent[at(holder)] += bytes;
        m.bytes += bytes;
      }
    return m;
  }

 private:
  // The places of `owner` whose values `holder` has.
  struct Share {
    int holder = 0;
    std::vector<i64> ids, entries;
  };
  Share share(int holder, int owner) const {
    Share s{holder, {}, {}};
    if (value_.part().count(holder) == 0) return s;
    for (i64 k = bounds_[at(owner)]; k < bounds_[at(owner) + 1]; ++k) {
      if (lead_axis_ >= 0) {
        const i64 along = digit(entries_[at(k)], key_.plan.lead, lead_axis_);
        if (along < begin(holder) || along >= value_.part().end(holder)) continue;
      }
      s.ids.push_back(ids_[at(k)]);
      s.entries.push_back(entries_[at(k)]);
    }
    return s;
  }
  i64 begin(int holder) const { return value_.part().begin(holder); }
  // The axis of a row along which the value is dealt out.
  i64 rest_axis() const {
    return result_axis_ < key_.plan.position ? result_axis_ : result_axis_ - key_.plan.lead.size();
  }
  // Rows of this rank's part of the value, in which entries are numbered anew.
  Array rows_of(const Share& s) const {
    if (s.ids.empty()) return empty_dense({0}, value_.dtype(), value_.device());
    ValueRows v{value_.resident(), key_.plan.shape, key_.plan.lead, key_.plan.position};
    v.shape[result_axis_] = value_.part().count(s.holder);
    std::vector<i64> own = s.entries;
    if (lead_axis_ >= 0) {
      const Shape& lead = key_.plan.lead;
      v.lead[lead_axis_] = value_.part().count(s.holder);
      i64 inner = 1;
      for (i64 a = lead_axis_ + 1; a < lead.size(); ++a) inner *= lead[a];
      for (i64& j : own) {
        const i64 outer = j / inner / lead[lead_axis_], along = j / inner % lead[lead_axis_];
        j = (outer * v.lead[lead_axis_] + along - begin(s.holder)) * inner + j % inner;
      }
    }
    return v.rows(own);
  }
  Shape shape_of(const Share& s, int holder) const {
    Shape shape{static_cast<i64>(s.ids.size())};
    shape.append(rows_.rest());
    if (lead_axis_ < 0) shape[1 + rest_axis()] = value_.part().count(holder);
    return shape;
  }

  const DNDarray& x_;
  const NormalKey& key_;
  const EntryRows& rows_;
  const DNDarray& value_;
  std::vector<i64> ids_, entries_, bounds_;
  i64 result_axis_ = 0, lead_axis_ = -1;
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
    push_asked(rows, key, plan.lead_axis, plan.spread.part, value);
    return;
  }
  const bool dealt = value.split() && value.shape(*value.split()) != 1;
  if (dealt) {
    KnownPush(x, key, rows, value).run();
    return;
  }
  const Array all = value.split() ? value.gathered() : value.local();
  const Array ids = rows.ids(key.plan.arrays, key.plan.lead);
  write_own(rows, ids, {all, plan.shape, key.plan.lead, key.plan.position}, x.comm().rank());
}

}  // namespace tessera
