// SPDX-License-Identifier: Apache-2.0
// x[key] = value: as if the value were copied first. Everything that can be wrong is known before
// the first element is written, on all ranks alike.
#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/masks/sole_mask.hpp"
#include "tessera/distributed/indexing/rows/scatter.hpp"
#include "tessera/distributed/indexing/rows/scatter_requested.hpp"
#include "tessera/distributed/indexing/write_plan.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/fit.hpp"

namespace tessera::dist {
namespace {

// What config().strict refuses instead of moving it: a value that every rank has for a key that is
// distributed, and a value that is split along another axis than its target.
void refuse_strictly(const DNDarray& x, const DistIndex& key, const DNDarray& value) {
  if (!config().strict || !x.split()) return;
  require<ArgumentError>(!key.distributed() || value.split() || value.size() == 1,
                         "assignment: the key is distributed and the value of shape ",
                         value.shape(),
                         " is not; distribute it first, or switch off ts.config.strict");
}
void refuse_strictly(const RoutePlan& plan, const DNDarray& value) {
  if (!config().strict || !value.split() || !plan.distribution.split) return;
  const i64 axis = *value.split() + plan.shape.size() - value.ndim();
  require<SplitError>(axis == *plan.distribution.split,
                      "assignment: the value is split along axis ", axis,
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

Array held(const DNDarray& value) {
  return value.resident() ? value.resident() : empty_dense({0}, value.dtype(), value.device());
}

// The whole value, on the rank that owns the target.
Array at_owner(const WritePlan& plan, int owner) {
  const DNDarray& value = plan.assigned.value;
  if (value.owner() == owner) return value.resident();  // as it lies: local() is for all ranks
  return plan.relayout ? plan.relayout->run(held(value), value.dtype(), value.comm())
                       : value.local();
}

void store(const Array& target, const Index& key, const Array& value) {
  target.assign(key, may_share_memory(value, target) ? value.copy() : value);
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
void write_parts(const WritePlan& plan) {
  const DNDarray& x = plan.x;
  const DNDarray& value = plan.assigned.value;
  const RoutePlan& way = plan.way;
  const std::size_t me = to_index(x.comm().rank());
  const i64 begin = way.begins[me], end = way.ends[me];
  Array mine;
  if (plan.relayout) {
    if (const Array place = place_of(x, plan.assigned, way))
      return plan.relayout->run_into(held(value), place, value.comm());
    mine = plan.relayout->run(held(value), value.dtype(), value.comm());
  } else {
    const i64 own = own_axis(value, way.axis, way.shape.size());
    mine = own < 0 ? value.local() : value.local().slice(own, begin, end);
  }
  if (begin == end) return;
  store(x.resident(), own_key(x, plan.assigned.key, way), plan.assigned.distribute(mine));
}

void write_at_owner(const WritePlan& plan) {
  const DNDarray& x = plan.x;
  const NormalKey& key = plan.assigned.key;
  const int owner = x.split() ? plan.way.owner : plan.route.owner;
  const Array there = at_owner(plan, owner);
  if (x.comm().rank() != owner) return;
  AtAxis at;
  if (x.split())
    at = {*x.split(), {}, key.axes[to_index(*x.split())].value - x.part().begin(owner)};
  store(x.resident(), local_key(key, key.plan.arrays, at, x.device()),
        plan.assigned.distribute(there));
}

void write(const WritePlan& plan) {
  const DNDarray& x = plan.x;
  if (plan.gathers)
    return write(plan_write(x, GatherPositions(x, plan.key).run(), plan.value, plan.most));
  if (plan.by == WriteBy::nothing) return;
  if (x.split()) refuse_strictly(plan.route, plan.value);
  switch (plan.by) {
    case WriteBy::parts: return write_parts(plan);
    case WriteBy::owner: return write_at_owner(plan);
    case WriteBy::requested_rows:
      return RequestedScatter(x, plan.key, plan.route.lead_axis, plan.route.distribution.part,
                              plan.value)
          .run();
    case WriteBy::known_rows:
      if (moves(plan.value)) return KnownScatter(x, plan.key, plan.value).run();
      return write_own_places(x, plan.key, plan.value);
    default: {  // everybody
      const Assigned& a = plan.assigned;
      const Array all = a.value.split() ? a.value.gathered() : a.value.local();
      store(x.local(), local_key(a.key, a.key.plan.arrays, {}, x.device()), a.distribute(all));
    }
  }
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

void DNDarray::assign(const DistIndex& key, const Array& value) const {
  assign(key, replicated(value, comm_));
}

void DNDarray::assign(const DistIndex& key, const DNDarray& wide) const {
  require_writable();
  if (wide.ndim() == 0 && !wide.owner()) {
    if (const auto slice = sole_slice(*this, key)) {
      require_same_place(*this, wide);
      if (slice->own.size() > 0) store(slice->own, Index(ellipsis), wide.local());
      return touch();
    }
  }
  const IndexPlan checked = check_key_aloud(*this, key);
  const DNDarray given = narrowed_for(*this, wide);
  check_value(*this, key, given, checked);
  const DistIndex near = with_whole_masks(key, unaligned_masks(*this, key, true));
  if (const auto mask = sole_mask(*this, near); mask && covers_split(*this, *mask)) {
    SoleMaskWrite(*this, *mask, checked, given).run(near);
  } else {
    const auto picks = PicksBeside(*this, near, checked, given).run();
    const NormalKey shaped =
        picks ? normalize(*this, near, picks->positions) : normalize(*this, near);
    const i64 picked = count_of(shaped.plan.shape);
    require<ShapeError>(!is_full_mask(*this, key) || given.ndim() == 0 || given.size() == 1 ||
                            given.size() == picked,
                        "NumPy boolean array indexing assignment cannot assign ", given.size(),
                        " input values to the ", picked, " output values where the mask is true");
    tessera::require_fit(given.shape(), shaped.plan);
    NormalKey k = shaped;
    check_all_values(*this, k);
    DNDarray value = trimmed(given, k.plan.shape.size());
    if (picks) follow_picks(*picks, *this, k, value);
    const Extent extent = extent_of(k);
    write(plan_write(*this, std::move(k), value, extent));
  }
  touch();
}

}  // namespace tessera::dist
