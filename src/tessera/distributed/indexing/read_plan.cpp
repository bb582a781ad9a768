// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/read_plan.hpp"

#include "tessera/distributed/indexing/rows/requests.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

void plan_whole(ReadPlan& plan) {
  const DNDarray& x = plan.x;
  RoutePlan& route = plan.route;
  route.reason = "every rank has the whole array";
  if (plan.key.leading_index >= 0) {
    plan.by = ReadBy::entries;
    if (plan.most.known) route.distribution.part = part_of_leading_index(plan.key, x.comm().size());
  } else if (x.owner()) {  // a handle of its owner's: what is read travels then
    plan.by = ReadBy::owner;
    route.route = Route::scalar;
    route.owner = *x.owner();
    route.reason = cat("all of the array belongs to rank ", route.owner);
  }
}

void plan_unforeseen(ReadPlan& plan) {
  plan.by = ReadBy::unforeseen;
  plan.route.route = Route::unordered;
  plan.route.reason = plan.most.known
                          ? "the positions are distributed, but not along the split: all ranks get "
                            "them"
                          : "a distributed mask beside other arrays: its positions decide";
}

// All distributed positions of a key whose masks are not counted go to all ranks, at most.
void count_all_positions(Transfers& t, const DNDarray& x, const NormalKey& key) {
  for (std::size_t a = 0; a < key.distribution.size(); ++a)
    if (const DNDarray& positions = key.distribution[a])
      t.gather(Content::positions, positions,
               size_of(type_of_positions(x.shape(key.plan.axes[static_cast<i64>(a)]))), false);
  if (key.any_distribution() && !all_ranges_known(key)) t.to_all(Content::flags, 1, false);
  t.at_most();
}

void count_entries(Transfers& t, const ReadPlan& plan) {
  const DNDarray& x = plan.x;
  const NormalKey& key = plan.key;
  if (x.owner() && !x.known()) t.from_owner(*x.owner(), x.size() * size_of(x.dtype()));
  if (!plan.most.known) return t.at_most();  // count_gathered() did it
  EntryPositions(x, key, key.result_axes[key.leading_index], plan.route.distribution.part).count(t);
  count_agreement(t, key);
}

void count_intervals(Transfers& t, const ReadPlan& plan) {
  const i64 item = size_of(plan.x.dtype());
  if (plan.most.known && !plan.gathers) {
    return t.add(Content::rows, IntervalMove(plan).relayout.movement(item));
  }
  const Shape& shape = plan.most.shape;
  const Boxes to = boxes_of(shape, plan.route.distribution, t.ranks());
  t.add(Content::rows, Relayout(shape, boxes_of_own(plan.route), to).movement(item), false);
}

}  // namespace

void count_gathered(Transfers& t, const DNDarray& x, const NormalKey& key, bool gathers,
                    bool known) {
  if (known && gathers) GatherPositions(x, key).count(t);
  if (!known && key.any_distribution()) count_all_positions(t, x, key);
}

Extent extent_of(const NormalKey& key) { return {key.plan.lead, key.plan.shape}; }

IntervalMove::IntervalMove(const ReadPlan& plan)
    : once(each_once(plan.x, plan.key)),
      way(route_of(plan.x, once.key)),
      relayout(way.shape, boxes_of_own(way),
               boxes_of(way.shape, way.distribution, plan.x.comm().size())) {}

ReadPlan plan_read(const DNDarray& x, NormalKey given, Extent most) {
  ReadPlan plan{x, std::move(given), std::move(most)};
  const NormalKey& key = plan.key;
  plan.route.shape = key.plan.shape;
  plan.route.distribution.split = split_of(x, key);
  if (!x.split()) {
    plan_whole(plan);
    return plan;
  }
  plan.gathers = key.any_distribution() && !keeps_distribution(x, key);
  const KeyAxis& axis = key.axes[to_index(*x.split())];
  const bool positions = axis.meets == Meets::positions;
  if (positions && (!plan.most.known || (plan.gathers && key.distribution[to_index(axis.array)]))) {
    plan_unforeseen(plan);
    return plan;
  }
  RoutePlan route = route_of(x, key);
  if (positions && plan.gathers && route.route == Route::unordered) {
    plan_unforeseen(plan);
    return plan;
  }
  plan.route = std::move(route);
  switch (plan.route.route) {
    case Route::scalar: plan.by = ReadBy::owner; break;
    case Route::descending_slice: plan.by = ReadBy::intervals; break;
    case Route::unordered:
      plan.by = plan.route.requests ? ReadBy::requested_rows : ReadBy::known_rows;
      break;
    default: plan.by = ReadBy::parts;
  }
  return plan;
}

void ReadPlan::count(Transfers& t) const {
  count_gathered(t, x, key, gathers, most.known);
  const Partition& part = route.distribution.part;
  switch (by) {
    case ReadBy::owner:
      return t.from_owner(route.owner, count_of(most.shape) * size_of(x.dtype()), most.known);
    case ReadBy::entries: return count_entries(t, *this);
    case ReadBy::intervals: return count_intervals(t, *this);
    case ReadBy::known_rows: {
      const IndexedRows rows(x, key);
      return KnownOwners(rows, key, route.lead_axis, part).count(t);
    }
    case ReadBy::requested_rows: {
      const IndexedRows rows(x, key);
      const RowRequests requests(rows, key, route.lead_axis, part);
      requests.count(t);
      return count_fetched(t, rows, requests.entries());
    }
    case ReadBy::unforeseen: {
      const IndexedRows rows(x, key);
      const std::vector<i64> all(to_index(t.ranks()), count_of(most.lead));
      if (key.at_owners) return;  // they have all rows
      if (!most.known) count_requests(t, rows, all);
      return count_fetched(t, rows, all);
    }
    default: return;
  }
}

}  // namespace tessera::dist
