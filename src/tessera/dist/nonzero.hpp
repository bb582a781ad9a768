// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of the elements that are not zero, in NumPy's order: one int64 array per axis. Of an
// array with a split they are dealt out along their one axis, where they lie when the split is the
// first axis, evenly otherwise.
//   std::vector<DNDarray> where = dist::nonzero(x);

#include "tessera/dist/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API std::vector<DNDarray> nonzero(const DNDarray& x);

}  // namespace tessera::dist
