// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/normal_names.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/ops/dense.hpp"
#include "tessera/linop/ops/nufft.hpp"

namespace tessera {
namespace {

bool mixes(const NamedLinop& a, NamedDimension d) {
  return contains(a.ishape(), d) && !contains(a.oshape(), d);
}

// What its normal calls d, without making one that takes work to make: those name it anew.
bool own_normal_keeps(const NamedLinop& a, NamedDimension d) {
  if (a.as<Dense>() || a.as<NUFFT>() || !config().rewrite_normals) return false;
  const std::optional<NamedLinop> own = a.own_normal();
  return own && contains(own->oshape(), d);
}

// Note [names of normals]: isometries at the end of A vanish from A.N, which acts point by point
// along the dims that only they mix, and calls them as the input does. The same for a last part
// whose own normal is a weight.
Dims kept_by_normal(const NamedLinop& a) {
  const Chain* c = a.as<Chain>();
  std::vector<NamedLinop> parts = c ? c->operators : std::vector{a};
  while (!parts.empty() && parts.back().isometry() && config().rewrite_isometries) parts.pop_back();
  Dims kept;
  for (NamedDimension d : a.ishape()) {
    if (d.is_wildcard() || !mixes(a, d)) continue;
    const auto first = std::find_if(parts.begin(), parts.end(),
                                    [&](const NamedLinop& part) { return mixes(part, d); });
    if (first == parts.end() || (first + 1 == parts.end() && own_normal_keeps(*first, d)))
      kept.push_back(d);
  }
  return kept;
}

}  // namespace

NamedLinop under_normal_names(const NamedLinop& a, const NamedLinop& sandwich) {
  if (!config().rewrite) return sandwich;  // nothing vanishes from normals either
  const Dims kept = kept_by_normal(a), in = a.ishape();
  Dims out = sandwich.oshape();
  const Match m = iscompatible(in, out);
  if (!m.matched) return sandwich;
  for (i64 i = 0; i < in.size(); ++i) {
    if (!contains(kept, in[i]) || contains(out, in[i])) continue;
    const auto& at = m.map[static_cast<std::size_t>(i)];
    if (at.size() == 1) out[at.front()] = in[i];
  }
  if (out == sandwich.oshape()) return sandwich;
  return Relabel{sandwich, NamedShape(sandwich.ishape(), out)};
}

}  // namespace tessera
