// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows that integer arrays pick from this rank's part: an id (ids.hpp) is one position on
// every indexed axis; its row is what the slices of the key leave of the other axes. Reads and
// writes by id.
//   IndexedRows rows(x, key);   Array mine = rows.read(ids);

#include "tessera/distributed/indexing/normalize.hpp"
#include "tessera/distributed/indexing/rows/ids.hpp"

namespace tessera::dist {

class IndexedRows {
 public:
  IndexedRows(const DNDarray& x, const NormalKey& key);  // positions on x's split axis

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

// Dense host memory of an array, wherever it is; the array itself where it already is that.
Array on_host_dense(const Array& a);

}  // namespace tessera::dist
