// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/entry_rows.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/distributed/wire/bool_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/by_bits.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

Array host_list(i64 n) {
  return Array(Storage::allocate(cpu, n * 8), Layout::contiguous({n}), DType::i64);
}

}  // namespace

i64 rows_of_piece(const EntryRows& rows) {
  const i64 share = config().staging_bytes / rows.array().comm().size();  // of all ranks, each way
  return std::max<i64>(1, share / (rows.row_bytes() + 2 * static_cast<i64>(sizeof(i64))));
}

Array on_host_dense(const Array& a) { return a.contiguous().to(cpu); }

EntryRows::EntryRows(const DNDarray& x, const NormalKey& key) : x_(x) {
  // The slices and integers of the key leave the same of every rank's part; positions are digits.
  const IndexPlan local = resolve(local_key(key, key.plan.arrays, {}, cpu), x.resident().layout());
  base_ = x.resident().view(local.view);
  for (i64 a = 0; a < key.plan.indexed(); ++a) {
    const i64 axis = key.plan.axes[a];
    extents_.push_back(x.shape(axis));
    if (axis == *x.split()) split_digit_ = a;
  }
  for (i64 a = 0; a < extents_.size(); ++a)
    if (a != split_digit_) per_entry_ *= extents_[a];
  for (i64 a = extents_.size(); a < base_.ndim(); ++a) rest_.push_back(base_.shape(a));
}

Array EntryRows::ids(std::span<const Array> positions, const Shape& lead) const {
  if (extents_.size() == 1) return positions[0].broadcast_to(lead).contiguous();
  Array sum = ops::multiply(positions[to_index(split_digit_)], Value(per_entry_));
  i64 weight = per_entry_;
  for (i64 a = 0; a < extents_.size(); ++a) {
    if (a == split_digit_) continue;
    weight /= std::max<i64>(1, extents_[a]);
    sum = ops::add(sum, ops::multiply(positions[to_index(a)], Value(weight)));
  }
  return sum.broadcast_to(lead).contiguous();
}

std::vector<Array> EntryRows::positions_of(std::span<const i64> ids) const {
  const auto n = static_cast<i64>(ids.size());
  const i64 begin = x_.part().begin(x_.comm().rank());
  std::vector<Array> positions;
  i64 weight = per_entry_;
  for (i64 a = 0; a < extents_.size(); ++a) {
    Array p = host_list(n);
    i64* to = p.host<i64>();
    if (per_entry_ == 1 && a == split_digit_) {
      for (i64 j = 0; j < n; ++j) to[j] = ids[to_index(j)] - begin;
    } else if (a == split_digit_) {
      for (i64 j = 0; j < n; ++j) to[j] = ids[to_index(j)] / per_entry_ - begin;
    } else {
      weight /= std::max<i64>(1, extents_[a]);  // nothing is asked of an empty axis
      for (i64 j = 0; j < n; ++j) to[j] = ids[to_index(j)] / weight % extents_[a];
    }
    positions.push_back(p.to(x_.device()));
  }
  return positions;
}

Array EntryRows::read(std::span<const i64> ids) const {
  Index key;
  for (const Array& p : positions_of(ids)) key.add(p);
  return base_[key].contiguous();
}

void EntryRows::write(std::span<const i64> ids, const Array& rows) const {
  Index key;
  for (const Array& p : positions_of(ids)) key.add(p);
  base_.assign(key, rows);
}

void EntryRows::write_all(const IdSet& ids, const Array& row) const {
  if (assign_by_bits(base_, ids.words(), row)) return;
  const Array mask = empty_dense({ids.last() - ids.first()}, DType::b1);
  bools_of_bits(reinterpret_cast<const std::uint8_t*>(ids.words().data()), mask.size(),
                mask.host<bool>());
  base_.assign(Index(mask.to(x_.device())), row);
}

void EntryRows::write_slab(std::span<const i64> ids, const Array& rows, i64 axis, i64 first) const {
  Index key;
  for (const Array& p : positions_of(ids)) key.add(p);
  const i64 own = extents_.size() + axis;
  base_.slice(own, first, first + rows.shape(1 + axis)).assign(key, rows);
}

namespace {
i64 row_messages(const EntryRows& rows, i64 count) {
  const i64 piece = rows_of_piece(rows);
  return (count + piece - 1) / piece;
}
}  // namespace

i64 most_wanted(const EntryRows& rows, const std::vector<i64>& entries, int rank, int owner) {
  return rank == owner ? 0 : std::min(entries[to_index(rank)], rows.radix(owner));
}

void count_fetched(Transfers& t, const EntryRows& rows, const std::vector<i64>& entries) {
  Transfer& sent = t.pairs(Content::rows, false);
  for (int r = 0; r < t.ranks(); ++r)
    for (int q = 0; q < t.ranks(); ++q) {
      const i64 count = most_wanted(rows, entries, r, q);
      sent.send(q, row_messages(rows, count), count * rows.row_bytes());
    }
}

Array KnownOwners::wanted_by(int rank) const {
  return ids_.slice(axis_, part_.begin(rank), part_.end(rank)).contiguous();
}

Fetch KnownOwners::fetch() const {
  const DNDarray& x = rows_.array();
  const int p = x.comm().size(), me = x.comm().rank();
  Fetch fetch;
  fetch.serve.resize(to_index(p));
  const i64 first = rows_.first_id(me), last = first + rows_.radix(me);
  for (int r = 0; r < p; ++r) {
    const Array theirs = wanted_by(r);
    const std::span<const i64> entries{theirs.host<i64>(), to_index(theirs.size())};
    if (r != me) {
      fetch.serve[to_index(r)] = NarrowList(distinct_within(entries, first, last), last);
      continue;
    }
    Distinct d = distinct(entries);
    fetch.bounds = owner_bounds(d.ids, x.part(), rows_.ids_per_entry());
    const i64 own = fetch.bounds[to_index(me)], count = fetch.bounds[to_index(me) + 1] - own;
    fetch.serve[to_index(me)] = NarrowList({d.ids.data() + own, to_index(count)}, last);
    fetch.slot = std::move(d.slot);
  }
  return fetch;
}

void KnownOwners::count(Transfers& t) const {
  Transfer& sent = t.pairs(Content::rows);
  for (int r = 0; r < t.ranks(); ++r) {
    const Array theirs = wanted_by(r);
    const Distinct d = distinct({theirs.host<i64>(), to_index(theirs.size())});
    const std::vector<i64> bounds =
        owner_bounds(d.ids, rows_.array().part(), rows_.ids_per_entry());
    for (int q = 0; q < t.ranks(); ++q) {
      const i64 count = q == r ? 0 : bounds[to_index(q) + 1] - bounds[to_index(q)];
      sent.send(q, row_messages(rows_, count), count * rows_.row_bytes());
    }
  }
}

}  // namespace tessera::dist
