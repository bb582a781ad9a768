// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/normalize.hpp"

#include <algorithm>

#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera::dist {
namespace {

using ItemKind = Index::Kind;

std::vector<Array> one_each(const Array& mask) {
  return std::vector<Array>(static_cast<std::size_t>(mask.ndim()), stand_in({1}, DType::i64));
}

// The same key with every mask replaced by positions, and which of its arrays are distributed.
struct Unmasked {
  Index index;
  std::vector<DNDarray> distribution;
  std::vector<bool> mask;  // which of its arrays came from masks
  i64 leading_index = -1;  // the first that came distributed
};

// Silently: a distributed mask is not counted, it has one element.
Unmasked unmask(const DistIndex& key, bool silently, const std::vector<DNDarray>& picked = {}) {
  Unmasked u;
  const auto add_array = [&](const Array& a, const DNDarray& distribution, bool mask) {
    u.index.add(a);
    u.distribution.push_back(distribution);
    u.mask.push_back(mask);
  };
  for (const Index::Item& item : key.index().items()) {
    if (add_plain(u.index, item)) continue;
    const auto which = static_cast<std::size_t>(item.value);
    const Array& a = key.index().arrays()[which];
    const DNDarray& distribution = key.distribution()[which];
    if (distribution && u.leading_index < 0)
      u.leading_index = static_cast<i64>(u.distribution.size());
    if (item.kind == ItemKind::integer_array) {
      add_array(a, distribution, false);
    } else if (distribution && silently) {
      const Array one = a.size() > 0 ? Array::of<i64>({0}) : Array::of<i64>({});
      for (i64 axis = 0; axis < a.ndim(); ++axis) add_array(one, {}, true);
    } else if (distribution) {
      for (const DNDarray& p : picked.empty() ? nonzero(distribution) : picked)
        add_array(stand_in(p.shape(), DType::i64), p, true);
    } else if (a.ndim() == 0) {  // on a device that the host cannot read
      u.index.add(a.item().as<bool>());
    } else {
      for (const Array& p : nonzero(a.to(cpu))) add_array(p, {}, true);
    }
  }
  return u;
}

// What stands on each axis, and where the slices go in the result.
std::vector<KeyAxis> axes_of(const Index& index, const IndexPlan& plan, const Shape& shape) {
  const i64 ndim = shape.size();
  i64 used = 0;
  for (const Index::Item& item : index.items())
    used += item.kind == ItemKind::integer || item.kind == ItemKind::slice ||
            item.kind == ItemKind::integer_array;
  std::vector<KeyAxis> axes;
  i64 rest = 0, arrays = 0;
  const auto result_axis = [&] {
    const i64 at = rest++;
    const bool behind = plan.kind == IndexPlan::Kind::advanced && at >= plan.position;
    return at + (behind ? plan.lead.size() : 0);
  };
  const auto keep = [&](const SliceRange& range) {
    axes.push_back({Meets::slice, range, 0, -1, result_axis()});
  };
  const auto size = [&] { return shape[static_cast<i64>(axes.size())]; };
  for (const Index::Item& item : index.items()) {
    switch (item.kind) {
      case ItemKind::integer:
        axes.push_back({Meets::integer, {}, item.value < 0 ? item.value + size() : item.value});
        break;
      case ItemKind::slice: keep(resolve_slice(item.slice, size())); break;
      case ItemKind::new_axis: ++rest; break;
      case ItemKind::ellipsis:
        for (i64 n = used; n < ndim; ++n) keep({0, size(), 1});
        break;
      case ItemKind::boolean: break;
      default: axes.push_back({Meets::positions, {}, 0, arrays++});
    }
  }
  while (static_cast<i64>(axes.size()) < ndim) keep({0, size(), 1});
  return axes;
}

// The last thing that can be wrong with the arrays of a key before anybody looks into them.
bool do_not_broadcast(const IndexError& e) {
  return std::string_view(e.what()).starts_with("shape mismatch");
}

// Masks collapse into the last axis; distributed positions keep theirs; those that all ranks know
// are split along their last axis that is longer than 1.
i64 result_axis_of(const Shape& lead, const Array& a, const DNDarray& distribution, bool mask) {
  const i64 missing = lead.size() - a.ndim();
  if (mask) return lead.size() - 1;
  if (distribution) return missing + *distribution.split();
  i64 last = 0;
  for (i64 k = 0; k < a.ndim(); ++k)
    if (a.shape(k) > 1) last = missing + k;
  return last;
}

NormalKey planned(const DNDarray& x, const Index& key, Unmasked&& u) {
  NormalKey k;
  k.plan = resolve(u.index, Layout::contiguous(x.shape()));
  k.plan.copy = k.plan.copy || key.force_copy();
  k.leading_index = u.leading_index;
  for (std::size_t a = 0; a < u.distribution.size(); ++a)
    k.result_axes.push_back(
        result_axis_of(k.plan.lead, k.plan.arrays[a], u.distribution[a], u.mask[a]));
  k.distribution = std::move(u.distribution);
  k.index = std::move(u.index);
  k.axes = axes_of(k.index, k.plan, x.shape());
  return k;
}

}  // namespace

bool NormalKey::any_distribution() const {
  return std::any_of(distribution.begin(), distribution.end(),
                     [](const DNDarray& a) { return bool(a); });
}

IndexPlan check_key(const DNDarray& x, const DistIndex& key) {
  for (const DNDarray& a : key.distribution())
    require<ArgumentError>(!a || a.comm() == x.comm(), "the indexed array is on ", x.comm(),
                           " and an index array on ", a ? a.comm() : x.comm(),
                           "; both must be of one communicator");
  return resolve(key.index(), Layout::contiguous(x.shape()), one_each);
}

IndexPlan check_key_aloud(const DNDarray& x, const DistIndex& key) {
  try {
    return check_key(x, key);
  } catch (const IndexError& e) {  // again with the masks counted, for the right numbers
    if (do_not_broadcast(e)) (void)resolve(unmask(key, false).index, Layout::contiguous(x.shape()));
    throw;
  }
}

void require_key(const DNDarray& x, const DistIndex& key) {
  try {
    (void)check_key(x, key);
  } catch (const IndexError& e) {
    if (!do_not_broadcast(e)) throw;
  }
}

i64 covered(const Index& index, const Index::Item& item, i64 ndim) {
  switch (item.kind) {
    case ItemKind::new_axis:
    case ItemKind::boolean: return 0;
    case ItemKind::mask: return index.arrays()[static_cast<std::size_t>(item.value)].ndim();
    case ItemKind::ellipsis: {
      i64 rest = ndim;
      for (const Index::Item& other : index.items())
        if (other.kind != ItemKind::ellipsis) rest -= covered(index, other, ndim);
      return rest;
    }
    default: return 1;
  }
}

std::vector<i64> first_axes(const Index& index, i64 ndim) {
  std::vector<i64> first;
  i64 axis = 0;
  for (const Index::Item& item : index.items()) {
    first.push_back(axis);
    axis += covered(index, item, ndim);
  }
  return first;
}

std::optional<SoleMask> sole_mask(const DNDarray& x, const DistIndex& key) {
  const Index& index = key.index();
  if (index.arrays().size() != 1 || !key.distribution()[0]) return {};
  SoleMask found{key.distribution()[0], -1};
  const std::vector<i64> axes = first_axes(index, x.ndim());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ItemKind kind = index.items()[i].kind;
    if (kind == ItemKind::boolean || kind == ItemKind::integer_array) return {};
    if (kind == ItemKind::mask) found.first = axes[i];
  }
  // A mask side of length zero on a longer axis picks nothing; the general way knows that.
  for (i64 a = 0; a < found.mask.ndim(); ++a)
    if (found.mask.shape(a) != x.shape(found.first + a)) return {};
  return found;
}

NormalKey normalize(const DNDarray& x, const DistIndex& key, const std::vector<DNDarray>& picked) {
  return planned(x, key.index(), unmask(key, false, picked));
}

NormalKey foresee(const DNDarray& x, const DistIndex& key) {
  NormalKey k = planned(x, key.index(), unmask(key, true));
  const bool masks = std::any_of(key.distribution().begin(), key.distribution().end(),
                                 [](const DNDarray& a) { return a && a.dtype() == DType::b1; });
  if (!masks) check_values(x, k);  // a mask may pick nothing: then nobody looks at them
  return k;
}

NormalKey with_positions(const DNDarray& x, const NormalKey& key,
                         std::span<const Array> positions) {
  Unmasked u{local_key(key, positions, {}, cpu), {}, {}};
  u.distribution.resize(positions.size());
  u.mask.resize(positions.size());
  const Index same = u.index;
  return planned(x, same, std::move(u));
}

Index local_key(const NormalKey& key, std::span<const Array> arrays, const AtAxis& at,
                Device device) {
  Index local;
  std::size_t array = 0;
  const std::vector<i64> first = first_axes(key.index, static_cast<i64>(key.axes.size()));
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Index::Item& item = key.index.items()[i];
    const bool here = first[i] == at.axis;
    if (item.kind == ItemKind::integer) {
      local.add(here && at.value ? *at.value : key.axes[static_cast<std::size_t>(first[i])].value);
    } else if (item.kind == ItemKind::slice && here && at.slice) {
      const SliceRange& r = *at.slice;
      const i64 stop = r.start + r.length * r.step;
      local.add(Slice{r.start, stop < 0 ? std::nullopt : std::optional(stop), r.step});
    } else if (!add_plain(local, item)) {
      local.add(arrays[array++].to(device));
    }
  }
  return local;
}

}  // namespace tessera::dist
