// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[positions on the split axis] = value as in scatter.hpp, where only the ranks of the positions
// know them: places travel, and rows with them or after them.
//   RequestedScatter(x, key, lead_axis, part, value).run();

#include "tessera/distributed/indexing/rows/requests.hpp"
#include "tessera/distributed/indexing/rows/value_rows.hpp"

namespace tessera::dist {

// The positions are distributed, by `part` along an axis of the lead: their ranks
// send requests to the owners.
class RequestedScatter {
 public:
  RequestedScatter(const DNDarray& x, const NormalKey& key, i64 lead_axis, const Partition& part,
                   const DNDarray& value);
  void count(Transfers& t) const;  // bounds
  void run() const;                // collective; IndexError on all ranks before anything is written

 private:
  // Where the values are when the entries are sent to the owners of their places.
  enum class Values : std::uint8_t {
    everywhere,  // on every rank from the beginning
    entries,     // distributed as the entries, first
    owners,      // they repeat along the entries: whoever owns places gets all of them
    holders      // where they were, until the owners of places ask for rows
  };
  // What travels beside the places.
  struct Payload {
    bool rows = false;     // the values themselves
    bool numbers = false;  // the entries' numbers: to find values that the owner has too, or to put
                           // the entries of several ranks in NumPy's order
    i64 number_bytes = 0, row_bytes = 0;
    i64 per_place() const { return (numbers ? number_bytes : 0) + (rows ? row_bytes : 0); }
  };
  struct Given;
  struct Arrived;
  Payload payload() const;
  Given value_for(const Fetch& asked) const;
  Arrived exchange(const Fetch& asked, const Given& given) const;
  bool write_one() const;
  void write_arrived(Arrived&& all, const Given& given) const;
  void write_straight(const Arrived& all) const;

  const NormalKey& key_;
  const DNDarray& value_;
  i64 lead_axis_;
  const Partition& part_;
  const IndexedRows rows_;
  const RowRequests requests_;
  bool varies_ = false;  // from entry to entry
  i64 axis_ = -1;        // of the value, along which entries are split; -1: none
  Values values_ = Values::everywhere;
  Shape shape_;  // of the result, but its rows as the value has them: what repeats travels once
  Payload payload_;
};

// The same while nobody knows the positions, and no rank has more than those of `lead`. A bound.
void count_scatter(Transfers& t, const DNDarray& x, const NormalKey& key, const DNDarray& value,
                   const Shape& lead);

}  // namespace tessera::dist
