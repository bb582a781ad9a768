// SPDX-License-Identifier: Apache-2.0
// x[key] = value: as if the value were copied first. Everything that can be wrong is known before
// the first element is written, on all ranks alike.
#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/indexing/entry_push.hpp"
#include "tessera/distributed/indexing/entry_rows.hpp"
#include "tessera/distributed/indexing/index_positions.hpp"
#include "tessera/distributed/indexing/index_route.hpp"
#include "tessera/distributed/indexing/index_winners.hpp"
#include "tessera/distributed/indexing/masks/mask.hpp"
#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/fit.hpp"

namespace tessera::dist {
namespace {

// What config().strict refuses instead of moving it: a value that every rank has for a key that is
// distributed, and a value that is dealt out along another axis than its target.
void refuse_strictly(const DNDarray& x, const DistIndex& key, const DNDarray& value) {
  if (!config().strict || !x.split()) return;
  require<ArgumentError>(!key.distributed() || value.split() || value.size() == 1,
                         "assignment: the key is distributed and the value of shape ",
                         value.shape(),
                         " is not; deal it out first, or switch off ts.config.strict");
}
void refuse_strictly(const RoutePlan& plan, const DNDarray& value) {
  if (!config().strict || !value.split() || !plan.distribution.split) return;
  const i64 axis = *value.split() + plan.shape.size() - value.ndim();
  require<SplitError>(axis == *plan.distribution.split,
                      "assignment: the value is dealt out along axis ", axis,
                      " of the target and the target along axis ", *plan.distribution.split,
                      "; resplit it first, or switch off ts.config.strict");
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

Array held(const DNDarray& value) {
  return value.resident() ? value.resident() : empty_dense({0}, value.dtype(), value.device());
}

// The whole value, on the rank that owns the target; an empty handle elsewhere.
Array at_owner(const DNDarray& value, int owner) {
  if (value.owner() == owner) return value.resident();  // as it lies: local() is for all ranks
  std::vector<bool> needs(to_index(value.comm().size()));
  needs[to_index(owner)] = true;
  return value_for_those(value, needs);
}

void store(const Array& target, const Index& key, const Array& value) {
  target.assign(key, may_share_memory(value, target) ? value.copy() : value);
}

void write_whole(const DNDarray& x, const NormalKey& key, const DNDarray& given) {
  if (count_of(key.plan.shape) == 0) {  // no element, nobody needs a value
    (void)gathered(x, key);
    return;
  }
  const Assigned a = without_repeats(x, gathered(x, key), given);
  const Index local = local_key(a.key, a.key.plan.arrays, {}, x.device());
  if (!x.owner()) {
    const Array v = a.value.split() ? a.value.gathered() : a.value.local();
    store(x.local(), local, a.distribute(v));
    return;
  }
  const Array v = at_owner(a.value, *x.owner());
  if (x.comm().rank() == *x.owner()) store(x.resident(), local, a.distribute(v));
}

// What this rank's part is asked with.
Index own_key(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  if (plan.array >= 0) return local_key(key, own_positions(x, key, plan), {}, x.device());
  return local_key(key, key.plan.arrays, {*x.split(), own_range(x, key, plan, x.comm().rank()), {}},
                   x.device());
}

// Where the value can arrive without a stop on the way: the elements themselves, as a view of this
// rank's part. An empty handle where the value is not laid out as they are, has another dtype, or
// shares memory with them: each rank decides for itself, the others see no difference.
Array place_of(const DNDarray& x, const Assigned& a, const RoutePlan& plan) {
  const Array& mine = x.resident();
  const Array from = held(a.value);
  const bool straight = a.key.plan.kind == IndexPlan::Kind::view && a.value.split() &&
                        a.value.shape() == plan.shape && plan.shape[plan.axis] > 1 &&
                        a.value.dtype() == x.dtype() && mine.storage().writable() &&
                        mine.layout().dense() && !may_share_memory(from, mine);
  if (!straight) return {};
  return mine.view(resolve(own_key(x, a.key, plan), mine.layout()).view);
}

// Each rank writes into its own part.
void write_local(const DNDarray& x, const Assigned& a, const RoutePlan& plan) {
  const DNDarray& value = a.value;
  const int me = x.comm().rank();
  const i64 begin = plan.begins[to_index(me)], end = plan.ends[to_index(me)];
  const i64 own = own_axis(value, plan.axis, plan.shape.size());
  Array mine;
  if (!value.split() && value.known()) {
    mine = own < 0 ? value.local() : value.local().slice(own, begin, end);
  } else {
    const Boxes from = boxes_of_value(value), to = boxes_of_target(value, plan);
    if (const Array place = place_of(x, a, plan))
      return relayout_into(held(value), value.shape(), from, place, to, value.comm());
    mine = relayout(held(value), value.shape(), value.dtype(), from, to, value.comm());
  }
  if (begin == end) return;
  store(x.resident(), own_key(x, a.key, plan), a.distribute(mine));
}

void write_routed(const DNDarray& x, const NormalKey& key, const DNDarray& value) {
  const RoutePlan first = route_of(x, key);
  refuse_strictly(first, value);
  if (first.route == Route::unordered) return push_rows(x, key, first, value);
  const Assigned a = without_repeats(x, key, value);
  if (first.array >= 0 && !a.all_stay) return push_rows(x, key, first, value);
  const RoutePlan plan = route_of(x, a.key);
  if (plan.route != Route::scalar) return write_local(x, a, plan);
  const i64 split = *x.split(),
            entry = a.key.axes[to_index(split)].value - x.part().begin(plan.owner);
  const Array there = at_owner(a.value, plan.owner);
  if (x.comm().rank() == plan.owner)
    store(x.resident(), local_key(a.key, a.key.plan.arrays, {split, {}, entry}, x.device()),
          a.distribute(there));
}

void require_same_place(const DNDarray& x, const DNDarray& value) {
  require<ArgumentError>(value.comm() == x.comm(), "the assigned array is on ", x.comm(),
                         " and the value on ", value.comm(), "; both must be of one communicator");
  require<DeviceError>(value.device() == x.device(), "the assigned array is on ", x.device(),
                       " and the value on ", value.device(), "; move one of them with to()");
}

// What shapes, devices and groups alone can say. NumPy looks at the value's shape before it looks
// at positions; masks have to be counted first.
void check_value(const DNDarray& x, const DistIndex& key, const DNDarray& value,
                 const IndexPlan& checked) {
  require_same_place(x, value);
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
  if (!masks && !is_full_mask(x, key)) require_fit(value.shape(), checked);
}

}  // namespace

Boxes boxes_of_target(const DNDarray& value, const RoutePlan& plan) {
  const i64 own = own_axis(value, plan.axis, plan.shape.size());
  Boxes to;
  for (std::size_t q = 0; q < plan.begins.size(); ++q) {
    if (own >= 0)
      to.push_back({own, plan.begins[q], plan.ends[q]});
    else
      to.push_back(plan.ends[q] > plan.begins[q] ? Box{} : Box{0, 0, 0});
  }
  return to;
}

DNDarray trimmed(const DNDarray& value, i64 ndim) {
  DNDarray v = value;
  while (v.ndim() > ndim && v.shape(0) == 1) {
    DistIndex first;
    first.add(0);
    v = v[first];
  }
  if (v.ndim() <= ndim) return v;
  const Shape last(v.shape().end() - ndim, v.shape().end());  // without elements: see fits()
  return DNDarray::replicated(Array::empty(last, v.dtype(), v.device()), v.comm());
}

void DNDarray::assign(const DistIndex& key, const Array& value) const {
  assign(key, replicated(value, comm_));
}

void DNDarray::assign(const DistIndex& key, const DNDarray& wide) const {
  require_writable();
  if (wide.ndim() == 0 && !wide.owner()) {
    if (const auto slice = lone_slice(*this, key)) {
      require_same_place(*this, wide);
      if (slice->own.size() > 0) store(slice->own, Index(ellipsis), wide.local());
      return touch();
    }
  }
  const IndexPlan checked = check_key_aloud(*this, key);
  // As many bytes as the narrower of both types needs: what is cast in the end may travel so.
  const DNDarray given = size_of(wide.dtype()) > size_of(dtype_) ? wide.astype(dtype_) : wide;
  check_value(*this, key, given, checked);
  const DistIndex near = with_whole_masks(key, loose_masks(*this, key, true));
  if (const auto mask = lone_mask(*this, near); mask && covers_split(*this, *mask)) {
    write_masked(*this, near, *mask, checked, given);
  } else {
    const auto picks = picks_beside(*this, near, checked, given);
    const NormalKey shaped =
        picks ? normalize(*this, near, picks->positions) : normalize(*this, near);
    const i64 picked = count_of(shaped.plan.shape);
    require<ShapeError>(!is_full_mask(*this, key) || given.ndim() == 0 || given.size() == 1 ||
                            given.size() == picked,
                        "NumPy boolean array indexing assignment cannot assign ", given.size(),
                        " input values to the ", picked, " output values where the mask is true");
    tessera::require_fit(given.shape(), shaped.plan);
    NormalKey k = routable(*this, shaped);
    DNDarray value = trimmed(given, k.plan.shape.size());
    if (picks) follow_picks(*picks, *this, k, value);
    if (split() && (picked > 0 || k.any_distribution()))
      write_routed(*this, k, value);
    else if (!split())
      write_whole(*this, k, value);
  }
  touch();
}

}  // namespace tessera::dist
