// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/write_plan.hpp"

#include "tessera/distributed/indexing/rows/scatter.hpp"
#include "tessera/distributed/indexing/rows/scatter_requested.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

// Positions that all ranks know are written once. While some are not, all of the value may move.
bool all_known(const WritePlan& plan) { return plan.most.known && !plan.gathers; }
void assign_once(WritePlan& plan) {
  plan.assigned = all_known(plan) ? without_repeats(plan.x, plan.key, plan.value)
                                  : Assigned{plan.key, plan.value, {}};
}

void give_value(WritePlan& plan, Boxes to) {
  if (moves(plan.assigned.value)) plan.relayout.emplace(plan.assigned.value, std::move(to));
}

void plan_whole(WritePlan& plan) {
  const int p = plan.x.comm().size();
  plan.route.reason = "every rank has the whole array";
  if (count_of(plan.most.shape) == 0) return;
  plan.by = plan.x.owner() ? WriteBy::owner : WriteBy::everybody;
  if (plan.x.owner()) plan.route.owner = *plan.x.owner();
  assign_once(plan);
  give_value(plan, plan.x.owner() ? boxes_on(*plan.x.owner(), p) : Boxes(to_index(p)));
}

void plan_parts(WritePlan& plan) {
  if (count_of(plan.most.shape) == 0) return;
  assign_once(plan);
  if (plan.route.array >= 0 && !plan.assigned.all_stay) {
    plan.by = WriteBy::known_rows;
    return;
  }
  plan.way = route_of(plan.x, plan.assigned.key);
  const bool one = plan.way.route == Route::scalar;
  plan.by = one ? WriteBy::owner : WriteBy::parts;
  give_value(plan, one ? boxes_on(plan.way.owner, plan.x.comm().size())
                       : boxes_of_target(plan.assigned.value, plan.way));
}

}  // namespace

WritePlan plan_write(const DNDarray& x, NormalKey given, const DNDarray& value, Extent most) {
  WritePlan plan{x, std::move(given), value, std::move(most)};
  const NormalKey& key = plan.key;
  plan.gathers = key.any_distribution() && !(x.split() && keeps_distribution(x, key));
  if (!x.split()) {
    plan_whole(plan);
    return plan;
  }
  const bool positions = key.axes[to_index(*x.split())].meets == Meets::positions;
  if (positions && !all_known(plan)) {
    plan.by = WriteBy::unforeseen;
    plan.route.route = Route::unordered;
    plan.route.reason = plan.most.known
                            ? "the positions are distributed and repeat: all ranks get them"
                            : "a distributed mask beside other arrays: its positions decide";
    return plan;
  }
  plan.route = route_of(x, key);
  if (plan.route.route != Route::unordered)
    plan_parts(plan);
  else if (plan.route.requests)
    plan.by = WriteBy::requested_rows;
  else if (count_of(plan.most.shape) > 0)
    plan.by = WriteBy::known_rows;
  return plan;
}

void WritePlan::count(Transfers& t) const {
  count_gathered(t, x, key, gathers, most.known);
  const i64 item = size_of(value.dtype());
  switch (by) {
    case WriteBy::nothing: return;
    case WriteBy::known_rows:
      if (moves(value)) KnownScatter(x, key, value).count(t);
      return;
    case WriteBy::requested_rows:
      return RequestedScatter(x, key, route.lead_axis, route.distribution.part, value).count(t);
    case WriteBy::unforeseen:
      if (!most.known) return count_scatter(t, x, key, value, most.lead);
      t.at_most();
      if (moves(value)) t.gather(Content::rows, value, item, false);
      return;
    default:
      if (relayout) t.add(Content::rows, relayout->movement(item), all_known(*this));
  }
}

}  // namespace tessera::dist
