// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a distributed mask remembers of its uses, until it is written to: its bits as they were
// then, and for arrays that are distributed alike how many elements every rank picks by them, also
// by row. All ranks remember the same and send nothing of it again; how much is decided by sizes
// that all of them know.
//   MaskUse use(x, mask);   const Array bits = use.bits();   use.order([&] { ... })->total();
//
// Note [a mask that was written through `local`]: no rank knows what another one wrote. Counts are
// never remembered without the bits that were counted, and a use takes both or neither: until
// touch() the mask is used as it was, on all ranks alike.

#include <functional>

#include "tessera/distributed/indexing/masks/mask_rows.hpp"

namespace tessera::dist {

// This rank's part of a mask in another distribution, where it is remembered; else an empty handle.
// No message.
Array known_bits(const DNDarray& mask, const Distribution& to);
// Distributes it so, and remembers that (collective).
Array distributed_bits(const DNDarray& mask, const Distribution& to);

// Of a mask that is distributed in one way: its own, or that of an array.
struct KnownMask {
  Array bits;  // this rank's part, in memory that nobody writes to
  std::vector<std::shared_ptr<const MaskOrder>> orders;  // each with another `group`
  std::shared_ptr<const MaskRows> rows;                  // the last, where rows were told
  i64 bytes = 0;  // of orders and rows, as all ranks count it
};

// One use of a mask. What it remembers is looked up first of all: what the use itself adds changes
// nothing of what it sends.
class MaskUse {
 public:
  MaskUse(const DNDarray& x, const SoleMask& mask);
  // None of these sends anything; null and false where something would have to be sent.
  bool lies_alike() const { return mask_.mask.distribution() == as_; }
  bool bits_known() const { return lies_alike() || known_.bits; }
  const Distribution& as() const { return as_; }
  std::shared_ptr<const MaskOrder> known_order(bool each) const;
  std::shared_ptr<const MaskRows> known_rows(const std::shared_ptr<const MaskOrder>& order,
                                             const Partition& to) const;

  // What the following send. Where the rows are known: how many elements change hands is, too.
  void count_bits(Transfers& t) const;
  void count_order(Transfers& t, bool each = false) const;
  void count_picked(Transfers& t) const;  // rows()

  // Collective where it is not known. This rank's part of the mask, distributed as x is.
  Array bits();
  // `own`: what this rank picks by row of bits(), asked for where it is not known.
  std::shared_ptr<const MaskOrder> order(const std::function<std::vector<i64>()>& own,
                                         bool each = false);
  std::shared_ptr<const MaskRows> rows(const std::shared_ptr<const MaskOrder>& order,
                                       const Partition& to);

 private:
  void keep(KnownMask more);

  const DNDarray& x_;
  const SoleMask& mask_;
  Distribution as_;
  KnownMask known_;
};

}  // namespace tessera::dist
