// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/relabel.hpp"

#include <tuple>

namespace tessera {

namespace {

// What `was` calls the dim that `outer` calls d.
std::optional<NamedDimension> name_in(const Dims& was, const Dims& outer, NamedDimension d) {
  const Match m = iscompatible(was, outer);
  for (std::size_t i = 0; i < m.map.size(); ++i)
    for (const i64 j : m.map[i])
      if (outer[j] == d) return was[static_cast<i64>(i)];
  return std::nullopt;
}

}  // namespace

std::optional<NamedDimension> Relabel::inner_name(NamedDimension d) const {
  const auto n = name_in(a.ishape(), names.ishape, d);
  return n ? n : name_in(a.oshape(), names.oshape, d);
}

std::optional<i64> Relabel::size(NamedDimension d) const {
  const auto inner = inner_name(d);
  return inner && !inner->is_wildcard() ? a.size(*inner) : std::nullopt;
}

std::optional<NamedDimension> Relabel::same_size(NamedDimension d) const {
  const NamedShape own = a.shape();
  for (const auto& [was, here, then, there] :
       {std::tuple(&own.ishape, &names.ishape, &own.oshape, &names.oshape),
        std::tuple(&own.oshape, &names.oshape, &own.ishape, &names.ishape)}) {
    const auto inner = name_in(*was, *here, d);
    if (!inner || inner->is_wildcard()) continue;
    // What a passes on under one name may have two here.
    const auto other = contains(*then, *inner) ? inner : a.same_size(*inner);
    if (const auto outer = other ? name_in(*there, *then, *other) : std::nullopt;
        outer && *outer != d)
      return outer;
  }
  return std::nullopt;
}

NamedLinop Relabel::split(const Tile& tile) const {
  Tile inner;
  for (const Cut& c : tile.cuts) {
    const auto d = inner_name(c.dim);
    require<SplitError>(d.has_value(), "Relabel ", names.str(), ": dim '", c.dim,
                        "' has no counterpart in ", a);
    const auto given = name_in(a.oshape(), names.oshape, c.dim);
    require<SplitError>(!given || *given == *d, "Relabel ", names.str(),
                        " cannot be cut along dim '", c.dim, "': ", a, " mixes along it, from '",
                        *d, "' to '", given.value_or(*d), "'");
    // What a wildcard stands for is carried along: the operator does not depend on it. Under two
    // names it is one dim all the same, and both would have to be cut alike.
    require<SplitError>(
        !d->is_wildcard() || (contains(names.ishape, c.dim) && contains(names.oshape, c.dim)),
        "Relabel ", names.str(), " cannot be cut along dim '", c.dim, "': ", a,
        " passes it on under another name");
    if (!d->is_wildcard()) inner.cuts.push_back({*d, c.start, c.stop, c.whole});
  }
  return Relabel{a.split(inner), names};
}

}  // namespace tessera
