// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows from the ranks that own them to the ranks that want them, in pieces.
//   const KnownOwners owners(rows, key, lead_axis, part);   Array mine = fetch_rows(rows, owners.fetch());

#include "tessera/distributed/exchange/exchange_plan.hpp"
#include "tessera/distributed/indexing/rows/indexed_rows.hpp"

namespace tessera::dist {

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
Array fetch_rows(const IndexedRows& rows, const Fetch& fetch);
i64 rows_of_piece(const IndexedRows& rows);  // at most, the same on all ranks
// What that sends where no rank has more than `entries[r]` entries: it wants no more of another
// one, and no more than that has places. A bound.
void count_fetched(Transfers& t, const IndexedRows& rows, const std::vector<i64>& entries);
i64 most_wanted(const IndexedRows& rows, const std::vector<i64>& entries, int rank, int owner);

// Positions that every rank knows, with entries that are distributed by `part` along an axis of the
// lead: each rank knows what every other one wants, nothing is asked.
class KnownOwners {
 public:
  KnownOwners(const IndexedRows& rows, const NormalKey& key, i64 lead_axis, const Partition& part)
      : rows_(rows),
        ids_(rows.ids(key.plan.arrays, key.plan.lead)),
        axis_(lead_axis),
        part_(part) {}
  Fetch fetch() const;
  void count(Transfers& t) const;  // of fetch_rows()

 private:
  Array wanted_by(int rank) const;  // an id for each of its entries
  const IndexedRows& rows_;
  Array ids_;
  i64 axis_;
  Partition part_;
};

}  // namespace tessera::dist
