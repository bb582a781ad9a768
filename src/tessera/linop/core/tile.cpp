// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/tile.hpp"

#include "tessera/linop/core/binding.hpp"

namespace tessera {

const Cut* Tile::find(NamedDimension d) const {
  for (const Cut& c : cuts)
    if (c.dim == d) return &c;
  return nullptr;
}

Tile Tile::only(const Dims& dims) const {
  Tile t;
  for (const Cut& c : cuts)
    if (contains(dims, c.dim)) t.cuts.push_back(c);
  return t;
}

Tile Tile::renamed(const Renames& renames) const {
  Tile t;
  for (const Cut& c : cuts)
    t.cuts.push_back({rename({c.dim}, renames)[0], c.start, c.stop, c.whole});
  return t;
}

std::string Tile::str() const {
  std::string text = "{";
  for (const Cut& c : cuts)
    text += cat(text.size() > 1 ? ", " : "", c.dim, ": ", c.start, ":", c.stop);
  return text + "}";
}

Layout part_of(const Layout& layout, const Dims& dims, const Tile& tile) {
  Layout part = layout;
  for (const Cut& c : tile.cuts)
    if (const auto axis = axis_of(dims, c.dim, layout.ndim()))
      part = part.slice(*axis, c.start, c.size(), 1);
  return part;
}

}  // namespace tessera
