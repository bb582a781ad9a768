// SPDX-License-Identifier: Apache-2.0
#pragma once
// The positions that a key holds: checked against the axis that they stand on, in the narrowest
// type as they travel, and whole on every rank where a route needs them so. Not for use outside of
// the files that index.
//   check_values(x, key);   NormalKey whole = GatherPositions(x, key).run();

#include "tessera/distributed/exchange/exchange_plan.hpp"
#include "tessera/distributed/indexing/normalize.hpp"

namespace tessera::dist {

bool ascending(std::span<const i64> positions);  // from 0 on; equal ones may follow each other
// Int64, dense, of the host, checked against [-size, size) and counted from the front. IndexError
// names `axis`.
Array checked_positions(const Array& positions, i64 axis, i64 size);

// This rank's part of distributed positions: int64 of the host, checked, counted from the front.
// `problem` is set where one is out of bounds.
Array own_checked(const DNDarray& positions, i64 axis, i64 size, std::string& problem);
// The same as they travel, in the narrowest type.
DNDarray narrowed(const DNDarray& positions, i64 axis, i64 size, std::string& problem);
DType type_of_positions(i64 size);          // the narrowest
i64 bytes_of_position(const Shape& shape);  // of one element, by all axes of an array of that shape
// Positions that every rank has become such that need no more checks; IndexError. Distributed ones
// are checked by whoever reads them.
void check_values(const DNDarray& x, NormalKey& key);
// The same where an array that is distributed may be wrong, too: all ranks throw for the first that
// is (collective then).
void check_all_values(const DNDarray& x, NormalKey& key);

// The same key with all of its arrays whole on every rank. Positions remember all of themselves,
// checked against the size of their axis: those do not travel again.
class GatherPositions {
 public:
  GatherPositions(const DNDarray& x, const NormalKey& key);
  void count(Transfers& t) const;
  NormalKey run() const;  // collective; IndexError on all ranks

 private:
  i64 axis(std::size_t array) const { return key_.plan.axes[static_cast<i64>(array)]; }
  const DNDarray& x_;
  const NormalKey& key_;
  bool looked_at_ = true;            // NumPy leaves values alone that it drops
  bool agree_ = false;               // ranks tell each other of positions that are out of bounds
  std::vector<std::size_t> travel_;  // which of the key's arrays
};

// Positions of entries [begin, end) along an axis of `lead`; arrays that do not have the axis, or
// only one entry of it, are passed on whole.
Array cut_positions(const Array& positions, const Shape& lead, i64 lead_axis, i64 begin, i64 end);

// The positions of every rank's own entries, which are distributed by `part` along an axis of
// `lead`: each array is cut, stays, is redistributed, or goes to all ranks where it lacks that
// axis.
class EntryPositions {
 public:
  EntryPositions(const DNDarray& x, const NormalKey& key, i64 lead_axis, const Partition& part);
  void count(Transfers& t) const;
  // Collective. `problem` is set where this rank had a position that is out of bounds.
  std::vector<Array> run(std::string& problem) const;

 private:
  enum class How : std::uint8_t { cut, unread, stay, move, gather };
  struct Source {
    How how = How::cut;
    i64 axis = 0;  // of the array: where the entries lie; -1: it does not have them
  };
  i64 size(std::size_t array) const { return x_.shape(key_.plan.axes[static_cast<i64>(array)]); }
  const DNDarray& x_;
  const NormalKey& key_;
  i64 lead_axis_;
  const Partition& part_;
  std::vector<Source> sources_;  // beside the key's arrays
};

// Whether every distributed array of the key remembers its least and largest element
// (dnd_array.hpp): then all ranks can check it alike, without a message.
bool all_ranges_known(const NormalKey& key);
bool within_ranges(const DNDarray& x, const NormalKey& key);
// The ranks tell each other whether one has positions that are out of bounds, where they do not
// know it of each other; then all throw (collective).
void agree_on_positions(const DNDarray& x, const NormalKey& key, const std::string& problem);
void count_agreement(Transfers& t, const NormalKey& key);

// After some rank had a problem: looks at all arrays again, in NumPy's order, and throws on all
// ranks (collective).
[[noreturn]] void throw_first_problem(const DNDarray& x, const NormalKey& key);

}  // namespace tessera::dist
