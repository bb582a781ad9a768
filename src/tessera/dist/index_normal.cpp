// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/index_normal.hpp"

#include <algorithm>

#include "tessera/dist/nonzero.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera {
namespace {

using ItemKind = Index::Kind;

std::vector<Array> one_each(const Array& mask) {
  return std::vector<Array>(static_cast<std::size_t>(mask.ndim()), stand_in({1}, DType::i64));
}

// The same key with every mask replaced by positions, and which of its arrays are distributed.
struct Unmasked {
  Index index;
  std::vector<DNDarray> spread;
};

Unmasked unmask(const DistIndex& key) {
  Unmasked u;
  const auto add_array = [&](const Array& a, const DNDarray& spread) {
    u.index.add(a);
    u.spread.push_back(spread);
  };
  for (const Index::Item& item : key.index().items()) {
    switch (item.kind) {
      case ItemKind::integer: u.index.add(item.value); break;
      case ItemKind::slice: u.index.add(item.slice); break;
      case ItemKind::new_axis: u.index.add(new_axis); break;
      case ItemKind::ellipsis: u.index.add(ellipsis); break;
      case ItemKind::boolean: u.index.add(item.value != 0); break;
      default: {
        const auto which = static_cast<std::size_t>(item.value);
        const Array& a = key.index().arrays()[which];
        const DNDarray& spread = key.spread()[which];
        if (item.kind == ItemKind::integer_array) {
          add_array(a, spread);
        } else if (spread) {
          for (const DNDarray& p : dist::nonzero(spread))
            add_array(stand_in(p.shape(), DType::i64), p);
        } else if (a.ndim() == 0) {  // on a device that the host cannot read
          u.index.add(a.item().as<bool>());
        } else {
          for (const Array& p : nonzero(a.to(cpu))) add_array(p, {});
        }
      }
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

// Replicated arrays become positions that need no more checks.
void check_values(NormalKey& k, const Shape& shape) {
  const bool looked_at = count_of(k.plan.lead) > 0;  // NumPy leaves values alone that it drops
  for (std::size_t a = 0; a < k.plan.arrays.size(); ++a) {
    if (k.spread[a]) continue;
    const i64 axis = k.plan.axes[static_cast<i64>(a)];
    Array& p = k.plan.arrays[a];
    p = looked_at ? checked_positions(p, axis, shape[axis]) : p.to(cpu).astype(DType::i64);
  }
}

}  // namespace

bool NormalKey::any_spread() const {
  return std::any_of(spread.begin(), spread.end(), [](const DNDarray& a) { return bool(a); });
}

IndexPlan check_key(const DNDarray& x, const DistIndex& key) {
  for (const DNDarray& a : key.spread())
    require<ArgumentError>(!a || a.comm() == x.comm(), "the indexed array is on ", x.comm(),
                           " and an index array on ", a ? a.comm() : x.comm(),
                           "; both must be of one communicator");
  const Layout whole = Layout::contiguous(x.shape());
  try {
    return resolve(key.index(), whole, one_each);
  } catch (const IndexError&) {  // again with the masks that are here, for the right numbers
    if (key.distributed()) throw;
    return resolve(key.index(), whole, [](const Array& mask) { return nonzero(mask.to(cpu)); });
  }
}

std::optional<LoneMask> lone_mask(const DNDarray& x, const DistIndex& key) {
  const Index& index = key.index();
  if (index.arrays().size() != 1 || !key.spread()[0]) return {};
  LoneMask found{key.spread()[0], 0};
  bool seen = false;
  i64 used = 0, axis = 0;
  for (const Index::Item& item : index.items()) {
    if (item.kind == ItemKind::boolean || item.kind == ItemKind::integer_array) return {};
    if (item.kind == ItemKind::mask) used += found.mask.ndim();
    if (item.kind == ItemKind::integer || item.kind == ItemKind::slice) ++used;
  }
  for (const Index::Item& item : index.items()) {
    if (item.kind == ItemKind::mask) {
      found.first = axis;
      seen = true;
    }
    if (item.kind == ItemKind::ellipsis) axis += x.ndim() - used;
    if (item.kind == ItemKind::integer || item.kind == ItemKind::slice) ++axis;
  }
  // A mask side of length zero on a longer axis picks nothing; the general way knows that.
  for (i64 a = 0; a < found.mask.ndim(); ++a)
    if (found.mask.shape(a) != x.shape(found.first + a)) return {};
  return seen ? std::optional(found) : std::nullopt;
}

NormalKey normalize(const DNDarray& x, const DistIndex& key) {
  Unmasked u = unmask(key);
  NormalKey k;
  k.plan = resolve(u.index, Layout::contiguous(x.shape()));
  k.plan.copy = k.plan.copy || key.index().force_copy();
  k.spread = std::move(u.spread);
  k.index = std::move(u.index);
  k.axes = axes_of(k.index, k.plan, x.shape());
  check_values(k, x.shape());
  return k;
}

bool all_ranges_known(const NormalKey& key) {
  for (const DNDarray& a : key.spread)
    if (a && !a.recall(value_range)) return false;
  return true;
}

void check_known_ranges(const DNDarray& x, const NormalKey& key) {
  for (std::size_t a = 0; a < key.spread.size(); ++a) {
    if (!key.spread[a] || count_of(key.plan.lead) == 0) continue;
    const auto range =
        std::static_pointer_cast<const ValueRange>(key.spread[a].recall(value_range));
    const i64 axis = key.plan.axes[static_cast<i64>(a)];
    for (const i64 end : {range->least, range->most}) resolve_integer(end, axis, x.shape(axis));
  }
}

NormalKey gathered(const DNDarray& x, const NormalKey& key) {
  NormalKey k = key;
  for (std::size_t a = 0; a < k.spread.size(); ++a) {
    if (!k.spread[a]) continue;
    k.plan.arrays[a] = k.spread[a].gathered();
    k.spread[a] = {};
  }
  check_values(k, x.shape());
  return k;
}

Array checked_positions(const Array& positions, i64 axis, i64 size) {
  const Array dense = positions.to(cpu).astype(DType::i64).contiguous();
  const i64* from = dense.host<i64>();
  const i64 n = dense.size();
  bool wrap = false;
  for (i64 i = 0; i < n; ++i) {
    resolve_integer(from[i], axis, size);
    wrap = wrap || from[i] < 0;
  }
  if (!wrap) return dense;
  const Array out =
      Array(Storage::allocate(cpu, n * 8), Layout::contiguous(dense.shape()), DType::i64);
  i64* to = out.host<i64>();
  for (i64 i = 0; i < n; ++i) to[i] = from[i] < 0 ? from[i] + size : from[i];
  return out;
}

Index local_key(const NormalKey& key, std::span<const Array> arrays, const AtAxis& at,
                Device device) {
  Index local;
  i64 axis = 0, array = 0, used = 0;
  const auto ndim = static_cast<i64>(key.axes.size());
  for (const KeyAxis& a : key.axes) used += a.meets != Meets::slice;
  i64 slices = 0;
  for (const Index::Item& item : key.index.items()) slices += item.kind == ItemKind::slice;
  for (const Index::Item& item : key.index.items()) {
    switch (item.kind) {
      case ItemKind::integer:
        local.add(axis == at.axis && at.value ? *at.value
                                              : key.axes[static_cast<std::size_t>(axis)].value);
        ++axis;
        break;
      case ItemKind::slice:
        if (axis == at.axis && at.slice) {
          const SliceRange& r = *at.slice;
          const i64 stop = r.start + r.length * r.step;
          local.add(Slice{r.start, stop < 0 ? std::nullopt : std::optional(stop), r.step});
        } else {
          local.add(item.slice);
        }
        ++axis;
        break;
      case ItemKind::new_axis: local.add(new_axis); break;
      case ItemKind::ellipsis:
        local.add(ellipsis);
        axis += ndim - used - slices;
        break;
      case ItemKind::boolean: local.add(item.value != 0); break;
      default: local.add(arrays[static_cast<std::size_t>(array++)].to(device)); ++axis;
    }
  }
  return local;
}

}  // namespace tessera
