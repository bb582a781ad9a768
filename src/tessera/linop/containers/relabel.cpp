// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/relabel.hpp"

namespace tessera {

std::optional<NamedDimension> Relabel::inner_name(NamedDimension d) const {
  const NamedShape inner = a.shape();
  auto look = [&](const Dims& outer, const Dims& was) -> std::optional<NamedDimension> {
    if (outer.size() != was.size()) return std::nullopt;
    for (i64 i = 0; i < outer.size(); ++i)
      if (outer[i] == d) return was[i];
    return std::nullopt;
  };
  const auto n = look(names.ishape, inner.ishape);
  return n ? n : look(names.oshape, inner.oshape);
}

std::optional<i64> Relabel::size(NamedDimension d) const {
  const auto inner = inner_name(d);
  return inner ? a.size(*inner) : std::nullopt;
}

NamedLinop Relabel::split(const Tile& tile) const {
  Tile inner;
  for (const Cut& c : tile.cuts) {
    const auto d = inner_name(c.dim);
    require<SplitError>(d.has_value(), "Relabel ", names.str(), ": dim '", c.dim,
                        "' has no counterpart in ", a);
    inner.cuts.push_back({*d, c.start, c.stop});
  }
  return Relabel{a.split(inner), names};
}

}  // namespace tessera
