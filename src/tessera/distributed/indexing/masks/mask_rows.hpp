// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements that the ranks pick by a mask, and that interleave in NumPy's order: where those go that
// this rank gives or gets, when the result is distributed by some partition. What has to be known
// of single rows where an order counts them together is told here.
//   MaskRows rows(order, Partition::even(order->total(), p), comm);   rows.bounds(0)

#include <memory>

#include "tessera/distributed/indexing/masks/mask.hpp"

namespace tessera::dist {

struct MaskShares {
  std::vector<i64>
      bounds;  // [bounds[r], bounds[r + 1]) of this rank's elements are in rank r's part
  std::vector<std::vector<i64>> places;  // by rank: its elements in this rank's part, ascending
};

// What ranks pick in each row of some groups: those in which the part of a rank begins, and those
// that lie wholly in this rank's part.
class MaskRows {
 public:
  // Collective where the order counts rows together; elsewhere nothing is sent.
  MaskRows(std::shared_ptr<const MaskOrder> order, Partition to, const Communicator& comm);
  const std::shared_ptr<const MaskOrder>& order() const { return order_; }
  const Partition& to() const { return to_; }
  i64 bytes() const;  // of memory, on the rank with the most: the same on all ranks
  // As MaskShares has them, of any rank: the same on all ranks.
  std::vector<i64> bounds(int rank) const;
  MaskShares shares() const;

 private:
  struct Groups {
    i64 first = 0, last = 0;  // past the end
  };
  i64 groups() const;
  i64 group_of(i64 element) const;  // in which it lies
  i64 rows_of(const Groups& g) const;
  bool is_cut(i64 group) const;
  Groups inner_of(int rank) const;
  bool picks(int rank, const Groups& g) const;
  std::span<const i64> own(const Groups& g) const;
  std::span<const i64> of(int rank, i64 group) const;  // by row of the group
  i64 before(int rank, i64 element) const;
  void tell_cut_groups(const Communicator& comm);
  void tell_inner_groups(const Communicator& comm);

  std::shared_ptr<const MaskOrder> order_;
  Partition to_;
  int me_ = 0;
  std::vector<i64> cut_;                           // groups in which a rank's part begins
  std::vector<std::vector<i64>> at_cuts_, inner_;  // by rank
};

// Elements in NumPy's order, distributed by rows.to(): `mine` has this rank's elements along its
// first axis (collective).
Array put_in_order(const Array& mine, const MaskRows& rows, const Communicator& comm);

// What of an array that differs along `axis`, its split, goes to this rank's picked elements, which
// lie along it in NumPy's order: everybody knows who needs which (collective).
Array in_order(const DNDarray& elements, i64 axis, MaskShares shares);

}  // namespace tessera::dist
