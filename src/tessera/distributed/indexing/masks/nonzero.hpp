// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of the elements that are not zero, in NumPy's order: one int64 array per axis. Of an
// array with a split they are distributed along their one axis, where they lie when the split is
// the first axis, evenly otherwise.
//   std::vector<DNDarray> where = dist::nonzero(x);

#include "tessera/distributed/exchange/exchange_plan.hpp"

namespace tessera::dist {

TESSERA_API std::vector<DNDarray> nonzero(const DNDarray& x);
void count_nonzero(Transfers& t, const DNDarray& mask);  // what that sends
// All ranks get its positions; the same where there is but one of them. Bounds.
void count_gathered_nonzero(Transfers& t, const DNDarray& mask);
void count_one_nonzero(Transfers& t, const DNDarray& mask);
// The same of any split, the elements of one rank behind those of the rank before it, so that they
// lie where they are. All ranks know how many each has.
std::vector<DNDarray> nonzero_by_rank(const DNDarray& x, const std::vector<i64>& counts);

}  // namespace tessera::dist
