// SPDX-License-Identifier: Apache-2.0
#pragma once
// The positions that a key holds: checked against the axis that they stand on, in the narrowest
// type as they travel, and whole on every rank where a route needs them so. Not for use outside of
// the files that index.
//   check_values(x, key);   NormalKey whole = gathered(x, key);

#include "tessera/distributed/indexing/index_normal.hpp"

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
// Whether positions remember all of themselves, checked against an axis of this size: then every
// rank has them without a message.
bool known_whole(const DNDarray& positions, i64 size);

// Positions that every rank has become such that need no more checks; IndexError. Distributed ones
// are checked by whoever reads them.
void check_values(const DNDarray& x, NormalKey& key);
// The same key with all of its arrays whole on every rank (collective).
NormalKey gathered(const DNDarray& x, const NormalKey& key);

// Whether every distributed array of the key remembers its least and largest element
// (dnd_array.hpp): then all ranks can check it alike, without a message.
bool all_ranges_known(const NormalKey& key);
bool within_ranges(const DNDarray& x, const NormalKey& key);

// After some rank had a problem: looks at all arrays again, in NumPy's order, and throws on all
// ranks (collective).
[[noreturn]] void throw_first_problem(const DNDarray& x, const NormalKey& key);

}  // namespace tessera::dist
