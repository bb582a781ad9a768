// SPDX-License-Identifier: Apache-2.0
// x[key] = value: as if the value were copied first. Everything that can be wrong is known before
// the first element is written, on all ranks alike.
#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/dist/entry_push.hpp"
#include "tessera/dist/entry_rows.hpp"
#include "tessera/dist/index_route.hpp"
#include "tessera/dist/mask.hpp"
#include "tessera/dist/relayout.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

bool broadcasts(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (i64 i = 1; i <= from.size(); ++i)
    if (from[from.size() - i] != 1 && from[from.size() - i] != to[to.size() - i]) return false;
  return true;
}

void require_broadcast(const DNDarray& value, const IndexPlan& plan) {
  if (plan.kind == IndexPlan::Kind::advanced)
    require<ShapeError>(broadcasts(value.shape(), plan.shape),
                        "shape mismatch: value array of shape ", tight_text(value.shape()),
                        " could not be broadcast to indexing result of shape ",
                        tight_text(plan.shape));
  else
    require<ShapeError>(broadcasts(value.shape(), plan.shape),
                        "could not broadcast input array from shape ", tight_text(value.shape()),
                        " into shape ", tight_text(plan.shape));
}

// What config().strict refuses instead of moving it: a value that every rank has for a key that is
// distributed, and a value that is dealt out along another axis than its target.
void refuse_strictly(const DNDarray& x, const DistIndex& key, const DNDarray& value) {
  if (!config().strict || !x.split()) return;
  require<ArgumentError>(!key.distributed() || value.split() || value.size() == 1,
                         "assignment: the key is distributed and the value of shape ",
                         value.shape(),
                         " is not; deal it out first, or switch off config().strict");
}
void refuse_strictly(const RoutePlan& plan, const DNDarray& value) {
  if (!config().strict || !value.split() || !plan.spread.split) return;
  const i64 axis = *value.split() + plan.shape.size() - value.ndim();
  require<SplitError>(axis == *plan.spread.split, "assignment: the value is dealt out along axis ",
                      axis, " of the target and the target along axis ", *plan.spread.split,
                      "; resplit it first, or switch off config().strict");
}

// A mask of the array's whole shape, or a truth value on an array of rank 0.
bool is_full_mask(const DNDarray& x, const DistIndex& key) {
  const auto items = key.index().items();
  if (items.size() != 1) return false;
  if (items[0].kind == Index::Kind::boolean) return x.ndim() == 0;
  return items[0].kind == Index::Kind::mask && key.index().arrays()[0].shape() == x.shape();
}

// The value's axis that lies on an axis of the target, or -1 where it has none or repeats.
i64 own_axis(const DNDarray& value, i64 axis, i64 ndim) {
  const i64 own = axis - (ndim - value.ndim());
  return own >= 0 && value.shape(own) != 1 ? own : -1;
}

// What of the value goes to interval [begins, ends) of an axis of the target, on every rank.
Array part_of_value(const DNDarray& value, const RoutePlan& plan) {
  const int me = value.comm().rank();
  const i64 own = own_axis(value, plan.axis, plan.shape.size());
  if (own < 0) return value.split() ? value.gathered() : value.local();
  if (!value.split() && value.known())
    return value.local().slice(own, plan.begins[at(me)], plan.ends[at(me)]);
  Boxes to;
  for (std::size_t q = 0; q < plan.begins.size(); ++q)
    to.push_back({own, plan.begins[q], plan.ends[q]});
  const Boxes from = value.split() ? boxes_of(value.shape(), value.spread(), value.comm().size())
                                   : boxes_on(*value.owner(), value.comm().size());
  const Array mine =
      value.resident() ? value.resident() : empty_dense({0}, value.dtype(), value.device());
  return relayout(mine, value.shape(), value.dtype(), from, to, value.comm());
}

// The whole value, on the rank that owns the target; an empty handle elsewhere.
Array at_owner(const DNDarray& value, int owner) {
  const Communicator& comm = value.comm();
  if (value.owner() == owner) return value.resident();  // as it lies: local() is for all ranks
  if (!value.split() && (!value.owner() || value.known()))
    return comm.rank() == owner ? value.local() : Array();
  const Boxes from = value.split() ? boxes_of(value.shape(), value.spread(), comm.size())
                                   : boxes_on(*value.owner(), comm.size());
  const Array mine =
      value.resident() ? value.resident() : empty_dense({0}, value.dtype(), value.device());
  const Array there =
      relayout(mine, value.shape(), value.dtype(), from, boxes_on(owner, comm.size()), comm);
  return comm.rank() == owner ? there : Array();
}

void store(const Array& target, const Index& key, const Array& value) {
  target.assign(key, may_share_memory(value, target) ? value.copy() : value);
}

void write_whole(const DNDarray& x, const NormalKey& key, const DNDarray& value) {
  const NormalKey all = gathered(x, key);
  const Index local = local_key(all, all.plan.arrays, {}, x.device());
  if (!x.owner()) {
    const Array v = value.split() ? value.gathered() : value.local();
    store(x.local(), local, v);
    return;
  }
  const Array v = at_owner(value, *x.owner());
  if (x.comm().rank() == *x.owner()) store(x.resident(), local, v);
}

void write_local(const DNDarray& x, const NormalKey& key, const RoutePlan& plan,
                 const DNDarray& value) {
  const int me = x.comm().rank();
  const i64 split = *x.split();
  const Array mine = part_of_value(value, plan);
  if (plan.array >= 0) {
    store(x.resident(), local_key(key, own_positions(x, key, plan), {}, x.device()), mine);
    return;
  }
  store(x.resident(),
        local_key(key, key.plan.arrays, {split, own_range(x, key, plan, me), {}}, x.device()),
        mine);
}

void write_routed(const DNDarray& x, const NormalKey& key, const DNDarray& value) {
  const RoutePlan plan = route_of(x, key);
  refuse_strictly(plan, value);
  if (plan.route == Route::unordered) {
    push_rows(x, key, plan, value);
  } else if (plan.route == Route::scalar) {
    const i64 split = *x.split(), entry = key.axes[at(split)].value - x.part().begin(plan.owner);
    const Array there = at_owner(value, plan.owner);
    if (x.comm().rank() == plan.owner)
      store(x.resident(), local_key(key, key.plan.arrays, {split, {}, entry}, x.device()), there);
  } else {
    write_local(x, key, plan, value);
  }
}

// What shapes, devices and groups alone can say. NumPy looks at the value's shape before it looks
// at positions; masks have to be counted first.
void check_value(const DNDarray& x, const DistIndex& key, const DNDarray& value,
                 const IndexPlan& checked) {
  require<ArgumentError>(value.comm() == x.comm(), "the assigned array is on ", x.comm(),
                         " and the value on ", value.comm(), "; both must be of one communicator");
  require<DeviceError>(value.device() == x.device(), "the assigned array is on ", x.device(),
                       " and the value on ", value.device(), "; move one of them with to()");
  refuse_strictly(x, key, value);
  require<DTypeError>(
      !is_full_mask(x, key) || value.ndim() <= 1,
      "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has ",
      value.ndim(), " dimensions");
  require<ArgumentError>(
      checked.kind != IndexPlan::Kind::element || value.ndim() == 0 || checked.copy,
      "setting an array element with a sequence.");
  const auto items = key.index().items();
  const bool masks = std::any_of(items.begin(), items.end(),
                                 [](const Index::Item& i) { return i.kind == Index::Kind::mask; });
  if (!masks && !is_full_mask(x, key))
    require_broadcast(trimmed(value, checked.shape.size()), checked);
}

}  // namespace

DNDarray trimmed(const DNDarray& value, i64 ndim) {
  DNDarray v = value;
  while (v.ndim() > ndim && v.shape(0) == 1) {
    DistIndex first;
    first.add(0);
    v = v[first];
  }
  return v;
}

void DNDarray::assign(const DistIndex& key, const Array& value) const {
  assign(key, replicated(value, comm_));
}

void DNDarray::assign(const DistIndex& key, const DNDarray& wide) const {
  const IndexPlan checked = check_key(*this, key);
  // As many bytes as the narrower of both types needs: what is cast in the end may travel so.
  const DNDarray given = size_of(wide.dtype()) > size_of(dtype_) ? wide.astype(dtype_) : wide;
  check_value(*this, key, given, checked);
  const DistIndex near = with_whole_masks(*this, key);
  if (const auto mask = lone_mask(*this, near); mask && covers_split(*this, *mask)) {
    write_masked(*this, near, *mask, checked, given);
  } else {
    const NormalKey k = routable(*this, near);
    const DNDarray value = trimmed(given, k.plan.shape.size());
    const i64 picked = count_of(k.plan.shape);
    require<ShapeError>(!is_full_mask(*this, key) || value.ndim() == 0 || value.size() == 1 ||
                            value.size() == picked,
                        "NumPy boolean array indexing assignment cannot assign ", value.size(),
                        " input values to the ", picked, " output values where the mask is true");
    require_broadcast(value, k.plan);
    if (split())
      write_routed(*this, k, value);
    else
      write_whole(*this, k, value);
  }
  touch();
}

}  // namespace tessera
