// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a distributed mask remembers of its uses, until it is written to: its bits as they were
// dealt out anew, and for arrays that are dealt out alike how many elements every rank picks, also
// by row. All ranks remember the same and send nothing of it again; how much is decided by sizes
// that all of them know.
//   MaskUse use(x, mask);   const Array bits = use.bits();   use.order({picked})->total();

#include "tessera/dist/mask_rows.hpp"

namespace tessera {

// This rank's part of a mask in another spread, where it is remembered; else an empty handle. No
// message.
Array known_bits(const DNDarray& mask, const Spread& to);
// Deals it out so, and remembers that (collective).
Array dealt_bits(const DNDarray& mask, const Spread& to);

// Of arrays that are dealt out alike along the same axis of the mask.
struct KnownOrders {
  std::vector<std::shared_ptr<const MaskOrder>> orders;  // each with another `group`
  std::shared_ptr<const MaskRows> rows;                  // the last, where rows were told
  i64 bytes = 0;                                         // of all that, as all ranks count it
};

// One use of a mask. What it remembers is looked up first of all: what the use itself adds changes
// nothing of what it sends.
class MaskUse {
 public:
  MaskUse(const DNDarray& x, const LoneMask& mask);
  // None of these sends anything; null and false where something would have to be sent.
  bool lies_alike() const { return mask_.mask.spread() == as_; }
  bool bits_known() const { return lies_alike() || known_bits_; }
  const Spread& as() const { return as_; }
  i64 group(bool each) const;  // rows that are counted together; `each`: one by one
  std::shared_ptr<const MaskOrder> known_order(bool each) const;
  std::shared_ptr<const MaskRows> known_rows(const std::shared_ptr<const MaskOrder>& order,
                                             const Partition& to) const;

  // Collective where it is not known. This rank's part of the mask, dealt out as x is.
  Array bits() const;
  // `own`: what this rank picks by row, as bits() has it. ArgumentError where that is not what the
  // mask remembers: it was written to behind everybody's back.
  std::shared_ptr<const MaskOrder> order(std::vector<i64> own, bool each = false);
  std::shared_ptr<const MaskRows> rows(const std::shared_ptr<const MaskOrder>& order,
                                       const Partition& to);

 private:
  std::string name() const;
  void keep(KnownOrders more);

  const DNDarray& x_;
  const LoneMask& mask_;
  Spread as_;
  Array known_bits_;
  KnownOrders known_;
};

}  // namespace tessera
