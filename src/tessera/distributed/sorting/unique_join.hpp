// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equal values that lie at the end of one rank's sorted block and at the beginning of the next:
// one group, which the rank keeps where it begins. Private to unique.
//   Joined j = join_groups(groups, x);   j.part.size() == number of distinct values

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// The groups of a block: distinct values, where they occur first, how often.
struct Groups {
  Array values, positions, counts;
  Array numbers;  // group of each item that came
};

struct Joined {
  Partition part;          // distinct values by the rank in whose block they begin
  bool continued = false;  // the first group of this rank began on another
};
// The last group of this rank takes in what follows of it on other ranks. Collective.
Joined join_groups(const Groups& mine, const DNDarray& x);

}  // namespace tessera::dist
