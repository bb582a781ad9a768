// SPDX-License-Identifier: Apache-2.0
#pragma once
// A distributed mask on x's split axis beside other index arrays. Each rank lists the elements that
// it owns itself, one rank's behind the other's, so that no position travels. When reading, where
// that is NumPy's order; when writing, what differs from one picked element to the next is brought
// into that order: no two of them are the same place, so that it changes nothing else.
//   if (auto picks = PicksBeside(x, key, checked, value).run()) follow_picks(*picks, x, k, value);

#include "tessera/distributed/indexing/masks/mask.hpp"

namespace tessera::dist {

// The distributed mask that covers x's split axis, beside others.
struct MaskBeside {
  SoleMask mask;
  i64 array = 0;  // its place among the arrays of the key
};
std::optional<MaskBeside> mask_beside(const DNDarray& x, const DistIndex& key);

// x[key]: the positions that the mask picks, by its axes, where their owners list them in NumPy's
// order; none where there is no such mask, or where the elements of the ranks interleave
// (collective).
std::vector<DNDarray> owned_positions(const DNDarray& x, const DistIndex& key);
// What that sends, or dist::nonzero where there is none; true where the owners list them.
bool count_owned_positions(Transfers& t, const DNDarray& x, const DistIndex& key,
                           const DNDarray& mask);

// An array whose elements along `axis` are as many as are picked, in the order of the owners. It is
// distributed as they are, or still lies where it lay (collective).
DNDarray by_owners(const DNDarray& a, i64 axis, const MaskOrder& order);

// What differs from one picked element to the next has to be in the owners' order where that is not
// NumPy's; `each`: somebody has to know more rows than those of its own part.
struct PicksDiffer {
  bool in_order = false, each = false;
};

struct MaskPicks {
  MaskBeside beside;
  std::vector<DNDarray> positions;  // by axis of the mask
  bool at_owners = false;           // they lie with the owners; otherwise where the mask lies
  std::optional<MaskOrder> order;   // where the owners' order is not NumPy's and that matters
};
// x[key] = value: who lists what the mask picks. The positions of few elements are less than the
// bits of a mask that lies otherwise: then they are those of dist::nonzero.
class PicksBeside {
 public:
  PicksBeside(const DNDarray& x, const DistIndex& key, const IndexPlan& checked,
              const DNDarray& value);
  void count(Transfers& t) const;
  // Nothing for keys without such a mask, and where its positions are listed when the key is
  // normalised (collective).
  std::optional<MaskPicks> run() const;

 private:
  enum class List : std::uint8_t {
    none,     // no such mask
    owners,   // always no more bytes than the others' way
    counted,  // the number of elements decides
    nonzero   // always fewer bytes
  };
  PicksDiffer differ_along(const DistIndex& key, const IndexPlan& checked,
                           const DNDarray& value) const;
  const DNDarray& x_;
  std::optional<MaskBeside> beside_;
  PicksDiffer differ_;
  List list_ = List::none;
  i64 outer_ = 1;  // entries for each picked element
};
// Tells the normal key where its positions lie; its other arrays, and the value, come into their
// order (collective). IndexError on all ranks.
void follow_picks(const MaskPicks& picks, const DNDarray& x, NormalKey& key, DNDarray& value);

}  // namespace tessera::dist
