// SPDX-License-Identifier: Apache-2.0
#pragma once
// A boolean array in another distribution: an eighth of a byte for each element that travels.
//   Array mine = BitRelayout(mask, {0, part}).run();

#include "tessera/distributed/exchange/exchange_plan.hpp"

namespace tessera::dist {

class BitRelayout {
 public:
  BitRelayout(const DNDarray& mask, const Distribution& to) : mask_(mask), relayout_(mask, to) {}
  void count(Transfers& t, bool exact = true) const {
    t.add(Content::bits, relayout_.movement_in_bits(), exact);
  }
  Array run() const;  // this rank's part of it (collective)

 private:
  const DNDarray& mask_;
  Relayout relayout_;
};

}  // namespace tessera::dist
