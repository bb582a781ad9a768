// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/scatter.hpp"

#include <algorithm>

#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

std::span<const i64> numbers(const Array& ids) { return {ids.host<i64>(), to_index(ids.size())}; }

struct Outgoing {
  std::vector<Array> held;
  std::vector<Block> blocks;
  void add(int rank, const Array& rows) {
    if (rows.bytes() == 0) return;
    held.push_back(on_host_dense(rows));
    blocks.push_back(Block::dense(rank, held.back().host_data(), held.back().bytes()));
  }
};

}  // namespace

KnownScatter::KnownScatter(const DNDarray& x, const NormalKey& key, const DNDarray& value)
    : x_(x), value_(value), rows_(x, key), own_(value, key.plan) {
  const Array ids = rows_.ids(key.plan.arrays, key.plan.lead);
  const LastWriters all = last_writers(numbers(ids));
  bounds_ = owner_bounds(all.ids, x.part(), rows_.ids_per_entry());
  ids_ = all.ids;
  entries_ = all.entry;
}

void KnownScatter::count(Transfers& t) const {
  Transfer& sent = t.pairs(Content::rows);
  for (int holder = 0; holder < t.ranks(); ++holder)
    for (int owner = 0; owner < t.ranks(); ++owner)
      if (holder != owner)
        sent.send(holder, 1, count_of(shape_of(share(holder, owner))) * size_of(value_.dtype()));
}

void KnownScatter::run() const {
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

KnownScatter::Share KnownScatter::share(int holder, int owner) const {
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

Array KnownScatter::rows_of(const Share& s) const {
  return own_.rows(value_.resident(), s.holder).rows(s.rows.ids);
}

Shape KnownScatter::shape_of(const Share& s) const {
  Shape shape{static_cast<i64>(s.rows.ids.size())};
  shape.append(own_.rest(s.holder));
  return shape;
}

void KnownScatter::write(const Share& s, const Array& rows) const {
  const bool one = s.rows.ids.size() == 1;  // for all places
  const Array each = one ? rows : take(rows, list_of(s.rows.slot.all()).to(rows.device()), 0);
  if (own_.rest_axis() >= 0)
    rows_.write_slab(s.ids, each, own_.rest_axis(), own_.begin(s.holder));
  else
    rows_.write(s.ids, each);
}

void write_own_places(const DNDarray& x, const NormalKey& key, const DNDarray& value) {
  const IndexedRows rows(x, key);
  const int me = x.comm().rank();
  const i64 first = rows.first_id(me), last = first + rows.radix(me);
  const ValueRows of_value{value.local(), key.plan.shape, key.plan.lead, key.plan.position};
  const Array ids = rows.ids(key.plan.arrays, key.plan.lead);
  const std::span<const i64> all = numbers(ids);
  std::vector<i64> places, entries;
  for (std::size_t j = 0; j < all.size(); ++j)
    if (all[j] >= first && all[j] < last) {
      places.push_back(all[j]);
      entries.push_back(static_cast<i64>(j));
    }
  if (!places.empty())
    rows.write(places, of_value.varies() ? of_value.rows(entries) : of_value.one_row());
}

}  // namespace tessera::dist
