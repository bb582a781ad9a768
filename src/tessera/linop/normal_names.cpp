// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/normal_names.hpp"

#include <algorithm>

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
  if (a.as<Dense>() || a.as<NUFFT>()) return false;
  const std::optional<NamedLinop> own = a.own_normal();
  return own && contains(own->oshape(), d);
}

// Note [names of normals]: isometries at the end of A vanish from A.N, which acts point by point
// along the dims that only they mix, and calls them as the input does. The same for a last part
// whose own normal is a weight. The same names hold where rules are switched off, and nothing
// vanishes: what reads them must not depend on settings.
Dims kept_by_normal(const NamedLinop& a, bool own_normal_is_in) {
  const Chain* c = a.as<Chain>();
  std::vector<NamedLinop> parts = c ? c->operators : std::vector{a};
  while (!parts.empty() && parts.back().isometry()) parts.pop_back();
  Dims kept;
  for (NamedDimension d : a.ishape()) {
    if (d.is_wildcard() || !mixes(a, d)) continue;
    const auto first = std::find_if(parts.begin(), parts.end(),
                                    [&](const NamedLinop& part) { return mixes(part, d); });
    if (first == parts.end() ||
        (first + 1 == parts.end() && !own_normal_is_in && own_normal_keeps(*first, d)))
      kept.push_back(d);
  }
  return kept;
}

}  // namespace

NamedLinop under_normal_names(const NamedLinop& a, const NamedLinop& sandwich,
                              bool own_normal_is_in) {
  const Dims kept = kept_by_normal(a, own_normal_is_in), in = a.ishape(), was = sandwich.oshape();
  const Match m = iscompatible(in, was);
  if (!m.matched) return sandwich;
  Dims out = was, taken = a.dims();
  Renames fresh;
  for (i64 i = 0; i < in.size(); ++i) {
    const NamedDimension d = in[i];
    const auto& at = m.map[static_cast<std::size_t>(i)];
    if (d.is_ellipses() || !mixes(a, d) || at.size() != 1) continue;
    NamedDimension& name = out[at.front()];
    if (!(name == d) && contains(in, name)) continue;  // another dim: W has changed their order
    if (contains(kept, d)) {
      if (!contains(was, d)) name = d;
    } else if (!(name == d) || d.is_any()) {  // by a new name: the next that A does not have
      const NamedDimension next = d.next_unused(taken);
      taken.push_back(next);
      if (!(name == next) && !contains(was, next) && !name.is_any()) fresh.emplace_back(name, next);
      if (!contains(was, next)) name = next;
    }
  }
  const NamedLinop renamed = sandwich.rename(fresh);
  if (out == renamed.oshape()) return renamed;
  return Relabel{renamed, NamedShape(renamed.ishape(), out)};
}

}  // namespace tessera
