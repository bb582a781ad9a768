// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of an assigned value by the number of their entry, in NumPy's order of the broadcast key.
//   ValueRows v{value, shape, lead, position};   Array rows = v.rows(entries);

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/exchange/exchange_plan.hpp"
#include "tessera/distributed/indexing/rows/indexed_rows.hpp"

namespace tessera::dist {

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
// The value's own extents with as many axes as the result has: what is broadcast travels once.
Shape own_extents(const Shape& value, i64 result_ndim);

// The result's shape with the rows as long as the value has them, and the bytes of one of those.
Shape rows_of_value(const Shape& value, const IndexPlan& plan);
i64 bytes_of_row(const DNDarray& value, const IndexPlan& plan);

bool moves(const DNDarray& value);  // some rank does not have it

// As many bytes as the narrower of both types needs: what is cast in the end may travel so.
DNDarray narrowed_for(const DNDarray& x, const DNDarray& value);
// A value without the leading axes of size 1 beyond the target's rank: NumPy drops them in
// assignments.
DNDarray trimmed(const DNDarray& value, i64 ndim);

// Where the ranks that hold the value know who needs it: all of it there, an empty handle
// elsewhere (collective where somebody lacks it).
Array value_for_those(const DNDarray& value, const std::vector<bool>& needs);
// The same where each rank knows of itself alone: they tell each other first, unless the value is
// not worth it.
Array value_where_needed(const DNDarray& value, bool needs);
bool worth_a_flag(const DNDarray& value);
void count_where_needed(Transfers& t, const DNDarray& value);

// Which rows of a value that moves each rank holds, for entries of a key that all ranks know.
class OwnRows {
 public:
  OwnRows(const DNDarray& value, const IndexPlan& plan);
  const Shape& extents() const { return own_; }  // of the value, as many axes as the result
  i64 lead_axis() const { return lead_axis_; }   // of the lead, along which it is split, or -1
  i64 rest_axis() const { return rest_axis_; }   // the same of a row
  int holder() const { return holder_; }         // where it is not split: who has it
  i64 begin(int rank) const { return is_split() ? value_.part().begin(rank) : 0; }
  i64 held(int rank) const { return is_split() ? value_.part().count(rank) : rank == holder_; }
  i64 count(int rank) const;   // of the rows that it holds, or has a part of
  int owner(i64 entry) const;  // of its row, which is not split itself
  i64 along(i64 entry) const;  // its place along lead_axis()
  bool holds(int rank, i64 entry) const;
  i64 row(i64 entry, int rank) const;  // as that rank counts its rows
  i64 number(i64 entry) const;         // of its row among all of the value's
  ValueRows rows(const Array& local, int rank) const;
  Shape rest(int rank) const;  // the shape of one of its rows

 private:
  bool is_split() const { return lead_axis_ >= 0 || rest_axis_ >= 0; }
  i64 axis_of_rest(i64 axis) const { return axis < position_ ? axis : axis + lead_.size(); }
  i64 extent(i64 axis, int rank) const {
    return axis == lead_axis_ ? held(rank) : own_[position_ + axis];
  }
  const DNDarray& value_;
  Shape lead_, own_;
  i64 position_ = 0, lead_axis_ = -1, rest_axis_ = -1;
  int holder_ = -1;
};

}  // namespace tessera::dist
