// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows that integer arrays pick from this rank's part: an id (entries.hpp) is one position on
// every indexed axis; its row is what the slices of the key leave of the other axes. Reads and
// writes by id, and fetches rows from the ranks that own them.
//   EntryRows rows(x, key);   Array mine = rows.read(ids);   fetch_rows(rows, fetch);

#include <optional>

#include "tessera/distributed/indexing/entries.hpp"
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

// Tells the owners which ids the entries of this rank want (collective). The positions along
// `lead_axis` are dealt out by `part`; IndexError on all ranks where any is out of bounds. A key of
// distributed arrays alone remembers the answer: the same key on an array that is dealt out alike
// sends nothing the next time.
std::shared_ptr<const Fetch> ask_owners(const EntryRows& rows, const NormalKey& key, i64 lead_axis,
                                        const Partition& part);
// Of a key of one distributed array, those ids of this rank that any rank wants, where a set of
// bits is a good way to keep them: for a value that is the same for all of them. Tells the owners
// as ask_owners() does, which then needs no message for the same key. None: ask_owners() is the
// way.
std::optional<IdSet> asked_places(const EntryRows& rows, const NormalKey& key);
// ask_owners() where every rank knows all entries: nothing is sent.
Fetch know_owners(const EntryRows& rows, const Array& ids, i64 axis, const Partition& part);

// Dense host memory of an array, wherever it is; the array itself where it already is that.
Array on_host_dense(const Array& a);

}  // namespace tessera::dist
