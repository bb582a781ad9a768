// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/key.hpp"

#include <algorithm>

#include "tessera/distributed/exchange/point_to_point.hpp"

namespace tessera::dist {

void DistIndex::add(const Array& a) {
  index_.add(a.ndim() == 0 ? a.to(cpu) : a);  // a number, wherever it is
  distribution_.resize(index_.arrays().size());
}

void DistIndex::add(const DNDarray& a) {
  if (!a.split()) return add(a.local());
  index_.add(stand_in(a.shape(), a.dtype()));
  distribution_.resize(index_.arrays().size());
  distribution_.back() = a;
}

bool DistIndex::distributed() const {
  return std::any_of(distribution_.begin(), distribution_.end(),
                     [](const DNDarray& a) { return bool(a); });
}

}  // namespace tessera::dist
