// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/normal_names.hpp"

#include <algorithm>
#include <span>

#include "tessera/linop/core/algebra.hpp"

namespace tessera {
namespace {

bool mixes(const NamedLinop& a, NamedDimension d) {
  return contains(a.ishape(), d) && !contains(a.oshape(), d);
}

// What its normal calls d, without making one that takes work to make: those name it anew.
bool own_normal_keeps(const NamedLinop& a, NamedDimension d) {
  if (const std::optional<bool> keeps = a.offers().normal_keeps(d)) return *keeps;
  const std::optional<NamedLinop> own = a.own_normal();
  return own && contains(own->oshape(), d);
}

// F.H F is the identity, but for a factor.
bool vanishes(const NamedLinop& a) {
  return a.isometry() || a.offers().factor() || !a.offers().separable_axes().empty();
}

bool all_ignore(i64 axis, std::span<const NamedLinop> parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const NamedLinop& a) { return a.offers().ignores_axis(axis); });
}

// Nothing after the transform varies along d: it passes them and meets its adjoint there.
bool idle_after(const NamedLinop& f, const Shape& axes, NamedDimension d,
                std::span<const NamedLinop> after) {
  const Dims in = f.ishape();
  return std::any_of(axes.begin(), axes.end(), [&](i64 axis) {
    return in[in.size() - axis] == d && all_ignore(axis, after);
  });
}

// Weights, between transforms that pass them and meet their adjoints: around them a Pad has its
// adjoint, and a weight inside is left.
bool only_weighs(std::span<const NamedLinop> parts) {
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Offers part = parts[k].offers();
    const Shape axes = part.separable_axes();
    if (axes.empty() && !part.weight_shape() && !part.factor()) return false;
    for (i64 axis : axes)
      if (!all_ignore(axis, parts.subspan(k + 1))) return false;
  }
  return true;
}

// The operators that it puts side by side, or passes everything on to.
std::vector<NamedLinop> alternatives(const NamedLinop& a, NamedDimension d) {
  if (const Stack* s = a.as<Stack>(); s && s->idim == d) return {};
  if (a.as<Stack>() || a.as<Concat>() || a.as<Add>()) return a.parts();
  const std::vector<NamedLinop> inside = a.parts();
  const bool passes = inside.size() == 1 && inside[0].ishape() == a.ishape() &&
                      inside[0].oshape() == a.oshape() && !a.as<Chain>();
  return passes ? inside : std::vector<NamedLinop>{};
}

// One after another; a part of a tile may be a chain itself.
void flatten(const NamedLinop& a, std::vector<NamedLinop>& parts) {
  const Chain* c = a.as<Chain>();
  if (!c) return parts.push_back(a);
  for (const NamedLinop& part : c->operators) flatten(part, parts);
}

// A tile of zeros may stand between transfers.
bool gives_zeros(const NamedLinop& a) {
  std::vector<NamedLinop> parts;
  flatten(a, parts);
  return std::any_of(parts.begin(), parts.end(),
                     [](const NamedLinop& part) { return part.offers().gives_zeros(); });
}

// Note [names of normals]: what vanishes at the end of A (isometries, transforms, factors) leaves
// A.N to act point by point along the dims that only this mixes, and A.N calls them as the input
// does. The same for a last part whose own normal is a weight, and for operators side by side that
// all keep the name. The names follow from A alone, not from settings (where rules are switched
// off, nothing vanishes) nor from sizes; and A scaled, or cut into tiles, has a normal of the same
// names. A dim that gets a new name gets the next that neither side of A has: the dims inside are
// others in tiles.
bool keeps(const NamedLinop& a, NamedDimension d, bool own_normal_is_in) {
  std::vector<NamedLinop> parts;
  flatten(a, parts);
  while (!parts.empty() && vanishes(parts.back())) parts.pop_back();
  const auto first = std::find_if(parts.begin(), parts.end(),
                                  [&](const NamedLinop& part) { return mixes(part, d); });
  if (first == parts.end()) return true;
  const std::span<const NamedLinop> after{first + 1, parts.end()};
  if (const Shape axes = first->offers().separable_axes(); !axes.empty())
    return idle_after(*first, axes, d, after);
  // Weights go through an image that is in one piece.
  const auto frame = first->offers().frame();
  if (frame && !frame->cuts && (after.empty() || !frame->wraps())) return only_weighs(after);
  if (first + 1 != parts.end()) return false;
  std::vector<NamedLinop> beside = alternatives(*first, d);
  std::erase_if(beside, gives_zeros);  // which fit any names
  if (!beside.empty())
    return std::all_of(beside.begin(), beside.end(),
                       [&](const NamedLinop& part) { return keeps(part, d, false); });
  return !own_normal_is_in && own_normal_keeps(*first, d);
}

}  // namespace

NamedLinop under_normal_names(const NamedLinop& a, const NamedLinop& sandwich,
                              bool own_normal_is_in) {
  const Dims in = a.ishape(), was = sandwich.oshape();
  const Match m = iscompatible(in, was);
  if (!m.matched) return sandwich;
  Dims out = was, taken = dims_of(a.shape());
  Renames fresh;
  for (i64 i = 0; i < in.size(); ++i) {
    const NamedDimension d = in[i];
    const auto& at = m.map[static_cast<std::size_t>(i)];
    if (d.is_ellipses() || !mixes(a, d) || at.size() != 1) continue;
    NamedDimension& name = out[at.front()];
    if (!(name == d) && contains(in, name)) continue;  // another dim: W has changed their order
    if (!d.is_wildcard() && keeps(a, d, own_normal_is_in)) {
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
