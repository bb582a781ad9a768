// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which rows the entries of each rank want of which owner, where only the ranks of the entries know
// their positions: they send requests to the owners. A key of distributed arrays alone remembers
// the answer, until one of them is written to: the same key on an array that is distributed alike
// sends nothing the next time.
//   RowRequests requests(rows, key, lead_axis, part);   fetch_rows(rows, *requests.run());

#include <optional>

#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/distributed/indexing/rows/send_requests.hpp"

namespace tessera::dist {

class RowRequests {
 public:
  // The positions along `lead_axis` are distributed by `part`.
  RowRequests(const IndexedRows& rows, const NormalKey& key, i64 lead_axis, const Partition& part);
  std::vector<i64> entries() const;  // by rank
  void count(Transfers& t) const;    // bounds
  // Collective; IndexError on all ranks where any position is out of bounds.
  std::shared_ptr<const Fetch> run() const;
  // Of a key of one distributed array, those ids of this rank that any rank wants, where a set of
  // bits is a good way to keep them: for a value that is the same for all of them. Sends requests
  // as run() does, which then needs no message for the same key. None: run() is the way.
  std::optional<IdSet> places() const;

 private:
  const IndexedRows& rows_;
  const NormalKey& key_;
  i64 lead_axis_;
  const Partition& part_;
  EntryPositions positions_;
  const DNDarray* alone_ = nullptr;           // the only array of the key
  bool together_ = false;                     // several, all of them distributed
  std::shared_ptr<const Fetch> known_;        // remembered: nothing is sent
  std::shared_ptr<const Requests> requests_;  // the same of the requests alone
};

// The requests of no more than `entries[r]` entries of each rank. A bound.
void count_requests(Transfers& t, const IndexedRows& rows, const std::vector<i64>& entries);

}  // namespace tessera::dist
