// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys whose positions repeat, with each place once: of x[key] every element is sent once and
// repeated where it arrives; of x[key] = value the last entry stays, and nobody has to send what
// the others would have written. Every rank knows all positions; nothing is sent here.
//   const Assigned a = without_repeats(x, key, value);   // the same assignment, each place once

#include "tessera/distributed/indexing/normalize.hpp"

namespace tessera::dist {

struct Once {
  NormalKey key;
  std::vector<i64>
      slot;  // which of its entries each entry of the first key is; none: it is the same
};
Once each_once(const DNDarray& x, const NormalKey& key);
// What the key of each_once picked, repeated as the first key has it.
Array repeated(const Array& picked, const Once& once, const IndexPlan& plan);

struct Assigned {
  NormalKey key;
  DNDarray value;
  // Which row of the value each entry of the key gets, where the value has each row once; none: the
  // value fits the key.
  std::vector<i64> slot;
  // Of a value that moves and differs from entry to entry: no entry is written over by a later one.
  // Every row of a value may have an entry that stays, and yet not at each owner of places.
  bool all_stay = true;
  Array distribute(
      const Array& moved) const;  // a part of the value with its rows as the key has them
};
// What is given where nothing repeats, and where it makes no difference: the value is on every
// rank, or one for all entries. The value fits.
Assigned without_repeats(const DNDarray& x, const NormalKey& key, const DNDarray& value);

}  // namespace tessera::dist
