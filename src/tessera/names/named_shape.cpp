// SPDX-License-Identifier: Apache-2.0
#include "tessera/names/named_shape.hpp"

namespace tessera {

NamedShape NamedShape::N() const {
  NamedShape n(ishape, ishape);
  Dims taken = ishape;
  for (NamedDimension& d : n.oshape) {
    if (contains(oshape, d)) continue;
    d = d.next_unused(taken);
    taken.push_back(d);
  }
  return n;
}

std::string NamedShape::str() const { return cat(to_text(ishape), " -> ", to_text(oshape)); }

NamedShape operator+(const NamedShape& a, const NamedShape& b) {
  NamedShape s = a;
  s.ishape.append(b.ishape);
  s.oshape.append(b.oshape);
  return s;
}

Dims rename(const Dims& d, const Renames& renames) {
  Dims r = d;
  for (NamedDimension& n : r)
    for (const auto& [from, to] : renames)
      if (n == from) {
        n = to;
        break;
      }
  return r;
}

}  // namespace tessera
