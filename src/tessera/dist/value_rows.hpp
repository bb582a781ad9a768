// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of an assigned value by the number of their entry, in NumPy's order of the broadcast key.
//   ValueRows v{value, shape, lead, position};   Array rows = v.rows(entries);

#include "tessera/dist/entry_rows.hpp"

namespace tessera {

struct ValueRows {
  Array value;       // broadcasts to `shape`
  Shape shape;       // of the result, over these entries
  Shape lead;        // of these entries
  i64 position = 0;  // where `lead` stands in `shape`

  // From entry to entry. A part of a value may have one entry only and look as if it did not: ask
  // the whole one.
  bool varies() const;
  // (n, rest...) of the entries with these numbers, dense.
  Array rows(std::span<const i64> entries) const;
  // (1, rest...): where it does not vary.
  Array one_row() const;
  Layout lead_first() const;  // over `lead`, then the rest
};

bool varies(const Shape& value, i64 result_ndim, i64 position, i64 lead_ndim);

// The positions are distributed: their ranks tell the owners (entry_push_asked.cpp).
void push_asked(const EntryRows& rows, const NormalKey& key, i64 lead_axis, const Partition& part,
                const DNDarray& value);

}  // namespace tessera
