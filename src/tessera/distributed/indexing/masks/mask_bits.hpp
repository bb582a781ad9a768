// SPDX-License-Identifier: Apache-2.0
#pragma once
// A boolean array in another distribution: an eighth of a byte for each element that travels.
//   Array mine = BitRelayout(mask, {0, part}).run();

#include "tessera/distributed/indexing/exchange_plan.hpp"

namespace tessera::dist {

class BitRelayout {
 public:
  BitRelayout(const DNDarray& mask, const Distribution& to);
  void count(Transfers& t, bool exact = true) const;
  Array run() const;  // this rank's part of it (collective)

 private:
  // What one rank gives to another: intervals of every axis.
  struct Piece {
    Shape begin, size;
    bool empty() const { return count_of(size) == 0; }
    i64 bytes() const { return (count_of(size) + 7) / 8; }
  };
  Piece piece(int from, int to) const;
  const DNDarray& mask_;
  Distribution distribution_;
  Boxes from_, to_;
};

}  // namespace tessera::dist
