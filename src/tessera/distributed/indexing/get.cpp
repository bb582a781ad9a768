// SPDX-License-Identifier: Apache-2.0
// x[key]: the way is planned in read_plan.cpp, here it is gone.
#include "tessera/device/pool.hpp"
#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/masks/sole_mask.hpp"
#include "tessera/distributed/indexing/read_plan.hpp"
#include "tessera/distributed/indexing/rows/requests.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/within.hpp"

namespace tessera::dist {
namespace {

// Integers that came as arrays of rank 0, such as argmax's, are integers: plan.copy is not asked.
bool is_view(const NormalKey& key) { return key.plan.kind == IndexPlan::Kind::view; }
// A local answer is a view of x's memory or new memory; handles of views share their writes.
DNDarray wrap(const DNDarray& x, const NormalKey& key, Array local, const Shape& shape,
              const Distribution& distribution) {
  if (is_view(key))
    return x.with(std::move(local), resolve(key.index, x.whole()).view, distribution);
  return DNDarray(std::move(local), shape, distribution, x.comm());
}

// One rank has what is asked for: a handle on it, read when somebody reads it.
DNDarray at_owner(const DNDarray& x, const NormalKey& key, int owner, const AtAxis& where) {
  const bool view = is_view(key);
  Array there;
  if (x.comm().rank() == owner)
    there = x.resident()[local_key(key, key.plan.arrays, where, x.device())];
  if (view) return x.owner_view(std::move(there), resolve(key.index, x.whole()).view, owner);
  return DNDarray::owned_by_one_rank(std::move(there), key.plan.shape, x.dtype(), x.device(), owner,
                                     x.comm());
}

// Every rank has all of x: the first distributed array of the key lends its distribution.
DNDarray from_entries(const ReadPlan& plan) {
  const DNDarray& x = plan.x;
  const NormalKey& key = plan.key;
  const Distribution& distribution = plan.route.distribution;
  std::string problem;
  const std::vector<Array> mine =
      EntryPositions(x, key, key.result_axes[key.leading_index], distribution.part).run(problem);
  agree_on_positions(x, key, problem);
  const Array local = x.local()[local_key(key, mine, {}, x.device())];
  return DNDarray(local, key.plan.shape, distribution, x.comm());
}

// Each rank answers from its own part.
Array own_answer(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  const int me = x.comm().rank();
  const i64 split = *x.split();
  if (plan.array < 0) {
    const SliceRange range = own_range(x, key, plan, me);
    return x.resident()[local_key(key, key.plan.arrays, {split, range, {}}, x.device())];
  }
  return read_within(x.resident(), local_key(key, own_positions(x, key, plan), {}, x.device()));
}

// The lead goes back to its place between the other axes.
Shape lead_behind(const NormalKey& key, i64 lead, i64 ndim) {
  const i64 position = key.plan.position;
  Shape order;
  for (i64 a = 0; a < position; ++a) order.push_back(lead + a);
  for (i64 a = 0; a < lead; ++a) order.push_back(a);
  for (i64 a = lead + position; a < ndim; ++a) order.push_back(a);
  return order;
}

// How a result of this shape lies when its rows were made one behind the other.
Layout layout_behind(const NormalKey& key, const Shape& shape) {
  const Layout lead_first =
      Layout::contiguous(key.plan.lead_first(Layout::contiguous(shape)).shape);
  return lead_first.permute(lead_behind(key, key.plan.lead.size(), shape.size()));
}

// The rows of the entries of this rank, in the shape of the result.
Array shaped(const Array& rows, const NormalKey& key, const Shape& local_lead) {
  Shape shape = local_lead;
  for (i64 a = 1; a < rows.ndim(); ++a) shape.push_back(rows.shape(a));
  const Array lead_first = rows.reshape(shape);
  return lead_first.permute(lead_behind(key, local_lead.size(), shape.size()));
}

// What a read took beside its result and what is remembered goes back to the system, but for a
// little.
class OwnScratch {
 public:
  ~OwnScratch() { device_pool(cpu).trim_to(before_ + little); }

 private:
  static constexpr i64 little = 4 << 20;
  const i64 before_ = device_pool(cpu).cached();
};

DNDarray from_rows(const ReadPlan& plan) {
  const OwnScratch scratch;
  const NormalKey& key = plan.key;
  const Distribution& distribution = plan.route.distribution;
  const i64 lead_axis = plan.route.lead_axis;
  const IndexedRows rows(plan.x, key);
  Shape lead = key.plan.lead;
  lead[lead_axis] = distribution.part.count(plan.x.comm().rank());
  const Array result =
      plan.by == ReadBy::requested_rows
          ? fetch_rows(rows, *RowRequests(rows, key, lead_axis, distribution.part).run())
          : fetch_rows(rows, KnownOwners(rows, key, lead_axis, distribution.part).fetch());
  return DNDarray::lying(shaped(result, key, lead), layout_behind(key, plan.route.shape),
                         distribution, plan.x.comm());
}

DNDarray from_intervals(const ReadPlan& plan) {
  const DNDarray& x = plan.x;
  const IntervalMove move(plan);
  const Array there =
      move.relayout.run(own_answer(x, move.once.key, move.way), x.dtype(), x.comm());
  const DNDarray y(repeated(there, move.once, plan.key.plan), plan.route.shape,
                   plan.route.distribution, x.comm());
  return is_view(plan.key) ? y.moved_copy() : y;  // NumPy has a view
}

DNDarray read(const ReadPlan& plan) {
  const DNDarray& x = plan.x;
  const NormalKey& key = plan.key;
  if (plan.gathers) return read(plan_read(x, GatherPositions(x, key).run(), plan.most));
  const RoutePlan& route = plan.route;
  switch (plan.by) {
    case ReadBy::everybody:
      return wrap(x, key, x.local()[local_key(key, key.plan.arrays, {}, x.device())], route.shape,
                  {});
    case ReadBy::owner: {
      AtAxis at;
      if (x.split())
        at = {*x.split(), {}, key.axes[to_index(*x.split())].value - x.part().begin(route.owner)};
      return at_owner(x, key, route.owner, at);
    }
    case ReadBy::entries: return from_entries(plan);
    case ReadBy::intervals: return from_intervals(plan);
    case ReadBy::parts:
      return wrap(x, key, own_answer(x, key, route), route.shape, route.distribution);
    default: return from_rows(plan);
  }
}

}  // namespace

DNDarray DNDarray::operator[](const DistIndex& key) const {
  if (auto slice = sole_slice(*this, key)) {
    return with(std::move(slice->own), std::move(slice->whole), std::move(slice->distribution));
  }
  const IndexPlan checked = check_key_aloud(*this, key);
  const DistIndex near = with_whole_masks(key, unaligned_masks(*this, key));
  if (const auto mask = sole_mask(*this, near); mask && covers_split(*this, *mask))
    return SoleMaskRead(*this, *mask, checked).run(near);
  const auto positions = owned_positions(*this, near);
  NormalKey k = normalize(*this, near, positions);
  check_all_values(*this, k);
  k.at_owners = !positions.empty() && keeps_distribution(*this, k);
  const Extent extent = extent_of(k);
  return read(plan_read(*this, std::move(k), extent));
}

}  // namespace tessera::dist
