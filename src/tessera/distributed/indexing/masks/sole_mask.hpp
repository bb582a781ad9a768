// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[mask] and x[mask] = value for a distributed mask that covers the split axis and is the only
// array of its key: what each rank picks of its own part, and where that goes. What the mask
// remembers (mask_known.hpp) is not sent again, and tells how many elements every rank picks: then
// nothing that is counted is a bound.
//   SoleMaskRead read(x, mask, checked);   read.count(plan);   DNDarray y = read.run(key);

#include "tessera/distributed/indexing/masks/mask_known.hpp"

namespace tessera::dist {

class SoleMaskRead {
 public:
  SoleMaskRead(const DNDarray& x, const SoleMask& mask, const IndexPlan& checked);
  void count(ExchangePlan& plan) const;
  DNDarray run(const DistIndex& key);  // collective

 private:
  const DNDarray& x_;
  const SoleMask& mask_;
  const IndexPlan& checked_;
  MaskUse use_;
  bool in_place_;  // the elements of the ranks do not interleave: they stay where they are
};

class SoleMaskWrite {
 public:
  SoleMaskWrite(const DNDarray& x, const SoleMask& mask, const IndexPlan& checked,
                const DNDarray& value);
  void count(ExchangePlan& plan) const;  // of a value that fits
  void run(const DistIndex& key);        // collective; ShapeError on all ranks

 private:
  enum class Values : std::uint8_t {
    none,      // no element is written
    same,      // one for all elements: no rank has to know of another's
    in_place,  // distributed as many as each rank picks
    in_order,  // the elements of the ranks interleave: each rank takes its own of a value in parts
    owned      // the same of a value that lies whole on some rank
  };
  i64 own() const {  // the value's axis along the picked elements
    return checked_.position - (checked_.shape.size() - value_.ndim());
  }
  bool each() const { return values_ == Values::owned; }  // whoever has it looks up places
  Distribution in_parts() const;  // in_order: as the value is distributed first
  void count_values(Transfers& t, const std::shared_ptr<const MaskOrder>& order) const;
  Array values(const std::shared_ptr<const MaskOrder>& order);

  const DNDarray& x_;
  const SoleMask& mask_;
  const IndexPlan& checked_;
  const DNDarray given_, value_;  // as it came; trimmed()
  bool nothing_;                  // whatever is true in the mask
  Values values_;
  MaskUse use_;
};

}  // namespace tessera::dist
