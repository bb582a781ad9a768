// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows that integer arrays pick from this rank's part: an id (entries.hpp) is one position on
// every indexed axis; its row is what the slices of the key leave of the other axes. Reads and
// writes by id, and fetches rows from the ranks that own them.
//   EntryRows rows(x, key);   Array mine = rows.read(ids);   fetch_rows(rows, fetch);

#include "tessera/distributed/indexing/entries.hpp"
#include "tessera/distributed/indexing/exchange_plan.hpp"
#include "tessera/distributed/indexing/index_normal.hpp"

namespace tessera::dist {

class EntryRows {
 public:
  EntryRows(const DNDarray& x, const NormalKey& key);  // positions on x's split axis

  const Shape& rest() const { return rest_; }  // shape of a row, new axes included
  i64 row_bytes() const { return count_of(rest_) * size_of(x_.dtype()); }
  i64 ids_per_entry() const { return per_entry_; }  // ids of one entry of the split axis
  i64 first_id(int rank) const { return x_.part().begin(rank) * per_entry_; }
  i64 radix(int rank) const { return x_.part().count(rank) * per_entry_; }
  const DNDarray& array() const { return x_; }

  // One id for each element of `positions`, which are broadcast to `lead`; dense, of that shape.
  // `positions` are in the order of the key's arrays.
  Array ids(std::span<const Array> positions, const Shape& lead) const;

  Array read(std::span<const i64> ids) const;                     // (n, rest...), dense
  void write(std::span<const i64> ids, const Array& rows) const;  // equal ids: the last stays
  // One row for all ids of a set; where one array alone is on the split axis.
  void write_all(const IdSet& ids, const Array& row) const;
  // Rows that are only [first, first + n) of axis `axis` of a row.
  void write_slab(std::span<const i64> ids, const Array& rows, i64 axis, i64 first) const;

 private:
  std::vector<Array> positions_of(std::span<const i64> ids) const;
  const DNDarray& x_;
  Array base_;           // this rank's part, indexed axes first
  Shape extents_;        // of the indexed axes, whole
  i64 split_digit_ = 0;  // which of them is x's split
  i64 per_entry_ = 1;
  Shape rest_;
};

// Who gives which rows to whom: serve[r] are the ids that rank r wants of this rank, itself too. Of
// what this rank wants, each id once and by owner, it knows how many (bounds), and the owners
// which. Keys remember it: four bytes for each entry, and four for each id that is served, while
// ids are below 2^32.
struct Fetch {
  std::vector<NarrowList> serve;
  std::vector<i64> bounds;  // p + 1 numbers
  NarrowList slot;          // of each entry: which of the wanted
  std::string of = {};      // what was asked, where it is remembered
  i64 wanted() const { return bounds.back(); }
};
// (entries, rest...), on x's device. Rows go in pieces, with their ids and positions no more than
// config().staging_bytes of all ranks.
Array fetch_rows(const EntryRows& rows, const Fetch& fetch);
i64 rows_of_piece(const EntryRows& rows);  // at most, the same on all ranks
// What that sends where no rank has more than `entries[r]` entries: it wants no more of another
// one, and no more than that has places. A bound.
void count_fetched(Transfers& t, const EntryRows& rows, const std::vector<i64>& entries);
i64 most_wanted(const EntryRows& rows, const std::vector<i64>& entries, int rank, int owner);

// Positions that every rank knows, with entries that are dealt out by `part` along an axis of the
// lead: each rank knows what every other one wants, nothing is asked.
class KnownOwners {
 public:
  KnownOwners(const EntryRows& rows, const NormalKey& key, i64 lead_axis, const Partition& part)
      : rows_(rows),
        ids_(rows.ids(key.plan.arrays, key.plan.lead)),
        axis_(lead_axis),
        part_(part) {}
  Fetch fetch() const;
  void count(Transfers& t) const;  // of fetch_rows()

 private:
  Array wanted_by(int rank) const;  // an id for each of its entries
  const EntryRows& rows_;
  Array ids_;
  i64 axis_;
  Partition part_;
};

// Dense host memory of an array, wherever it is; the array itself where it already is that.
Array on_host_dense(const Array& a);

}  // namespace tessera::dist
